#include "restart/checkpoint/interval.h"
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include "base/lower.h"
#include "task/signals.h"

static timer_t timer;
static bool made;

/* Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006), equation 37; its first
 * term is Young's. */
static double optimum_s(double cost_s, double mtbf_s)
{
	double half = cost_s / (2 * mtbf_s);
	if (cost_s >= 2 * mtbf_s)
		return mtbf_s;
	return sqrt(2 * cost_s * mtbf_s) * (1 + sqrt(half) / 3 + half / 9) - cost_s;
}

void interval_begin(double cost_s)
{
	const struct limit *every = &lower.opt.checkpoint_every;
	double s = every->unit == LIMIT_SECONDS ? (double)every->value / 1e9
		   : lower.opt.mtbf_s           ? optimum_s(cost_s, lower.opt.mtbf_s)
						: 0;
	if (s <= 0 || lower.opt.board_rank != 0)
		return;
	if (s < 0.01)
		s = 0.01;
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGNALS_REMINDER,
			       .sigev_value.sival_ptr = (void *)SIGNALS_CHECKPOINT};
	struct itimerspec in = {.it_value = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)}};
	if (!made && timer_create(CLOCK_MONOTONIC, &how, &timer) == 0)
		made = true;
	if (made)
		timer_settime(timer, 0, &in, NULL);
}

void interval_forked(void)
{
	made = false;
}

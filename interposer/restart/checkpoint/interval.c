#include "restart/checkpoint/interval.h"
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include "base/lower.h"
#include "task/signals.h"

enum { NS = 1000000000, LEAST_NS = NS / 100 };

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

static uint64_t optimum_ns(uint64_t cost_ns)
{
	fenv_t of_program; /* which may trap what is inexact */
	feholdexcept(&of_program);
	const double s = optimum_s((double)cost_ns / NS, lower.opt.mtbf_s);
	const uint64_t ns = s > 0 ? (uint64_t)(s * NS) : 0;
	fesetenv(&of_program);
	return ns;
}

void interval_begin(uint64_t cost_ns)
{
	const struct limit *every = &lower.opt.checkpoint_every;
	uint64_t ns = every->unit == LIMIT_SECONDS ? every->value : lower.opt.mtbf_s ? optimum_ns(cost_ns) : 0;
	if (!ns || lower.opt.board_rank != 0)
		return;
	if (ns < LEAST_NS)
		ns = LEAST_NS;
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGNALS_REMINDER,
			       .sigev_value.sival_ptr = (void *)SIGNALS_CHECKPOINT};
	struct itimerspec in = {.it_value = {.tv_sec = (time_t)(ns / NS), .tv_nsec = (long)(ns % NS)}};
	if (!made && timer_create(CLOCK_MONOTONIC, &how, &timer) == 0)
		made = true;
	if (made)
		timer_settime(timer, 0, &in, NULL);
}

void interval_forked(void)
{
	made = false;
}

/* timer_create(2): a timer of the thread's processor time, and of another clock by its number. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

static volatile sig_atomic_t seen;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	seen = info->si_value.sival_int;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec used = {.it_value = {0, 3000000}};
	clockid_t clocks[3] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID};
	timer_t timer;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !pthread_getcpuclockid(pthread_self(), &clocks[2]));
	for (int i = 0; i < 3; i++) {
		event.sigev_value.sival_int = i + 1;
		SAY(timer_create(clocks[i], &event, &timer));
		SAY(timer_settime(timer, 0, &used, NULL));
		while (seen != i + 1)
			;
		SAY(timer_delete(timer));
	}
	return 0;
}

/* timer_getoverrun(2): expirations while the signal is pending are counted in the siginfo of the one that comes. */
#include "../observe.h"
#include <signal.h>
#include <time.h>

int main(void)
{
	struct itimerspec often = {{0, 100000}, {0, 100000}}, off = {0};
	struct timespec moment = {0, 5000000};
	siginfo_t info;
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	MUST(!timer_create(CLOCK_MONOTONIC, NULL, &timer) && !timer_settime(timer, 0, &often, NULL));
	MUST(!nanosleep(&moment, NULL));
	SAY(sigwaitinfo(&set, &info));
	printf("code %d many %d same %d\n", info.si_code, info.si_overrun >= 40,
	       info.si_overrun == timer_getoverrun(timer));
	MUST(!timer_settime(timer, 0, &off, NULL));
	while (sigtimedwait(&set, &info, &(struct timespec){0, 0}) > 0)
		;
	SAY(sigtimedwait(&set, &info, &(struct timespec){0, 2000000}));
	return 0;
}

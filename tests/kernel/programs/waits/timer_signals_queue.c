/* timer_create(2): several timers with one signal each queue it once, told apart by value; deleted ones take theirs along. */
#include "../observe.h"
#include <signal.h>
#include <time.h>

int main(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
	struct itimerspec now = {.it_value = {0, 1}};
	timer_t timers[4];
	siginfo_t info;
	sigset_t set;
	int seen = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 4; i++) {
		event.sigev_value.sival_int = i;
		MUST(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]) && !timer_settime(timers[i], 0, &now, NULL));
		struct itimerspec left;
		do
			MUST(!timer_gettime(timers[i], &left));
		while (left.it_value.tv_nsec);
	}
	for (int i = 0; i < 4; i++) {
		MUST(sigwaitinfo(&set, &info) == SIGRTMIN + 1);
		seen |= 1 << info.si_value.sival_int;
		printf("value %d overrun %d\n", info.si_value.sival_int, info.si_overrun);
	}
	printf("seen %x\n", seen);
	for (int i = 0; i < 4; i++)
		SAY(timer_delete(timers[i]));
	SAY(timer_delete(timers[0]));
	SAY(timer_gettime(timers[0], &now));
	SAY(timer_getoverrun(timers[0]));
	return 0;
}

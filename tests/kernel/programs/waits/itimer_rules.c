/* setitimer(2): the old value is returned, alarm and ITIMER_REAL share one timer, EINVAL for wrong microseconds. */
#include "../observe.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t count;

static void handler(int sig)
{
	(void)sig;
	count++;
}

int main(void)
{
	struct itimerval set = {{50, 0}, {100, 0}}, old = {{9, 9}, {9, 9}}, often = {{0, 1000}, {0, 1000}};
	sigset_t alrm, none;

	signal(SIGALRM, handler);
	SAY(setitimer(ITIMER_REAL, &set, &old));
	printf("%ld %ld\n", (long)old.it_value.tv_sec, (long)old.it_interval.tv_sec);
	SAY(alarm(200) >= 99);
	SAY(getitimer(ITIMER_REAL, &old));
	printf("%d %ld\n", old.it_value.tv_sec >= 199, (long)old.it_interval.tv_sec);
	SAY(setitimer(ITIMER_REAL, NULL, &old));
	printf("%d\n", old.it_value.tv_sec >= 199);
	SAY(alarm(0));
	SAY(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 1000000}}, NULL));
	SAY(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, -1}}, NULL));
	SAY(setitimer(7, &set, NULL));
	SAY(getitimer(7, &old));
	SAY(setitimer(ITIMER_REAL, &often, NULL));
	while (count < 5)
		pause();
	SAY(setitimer(ITIMER_REAL, &(struct itimerval){0}, &old));
	printf("interval %ld left %d\n", (long)old.it_interval.tv_usec, old.it_value.tv_usec <= 1000);
	sigemptyset(&none);
	sigemptyset(&alrm);
	sigaddset(&alrm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alrm, NULL);
	count = 0;
	SAY(ualarm(1000, 0));
	while (!count)
		sigsuspend(&none);
	SAY(ualarm(0, 0));
	return 0;
}

/* signal-safety(7): errno is one per thread and a handler that changes it changes it for what it interrupts. */
#include "../observe.h"
#include <signal.h>
#include <sys/time.h>

static void handler(int sig)
{
	errno = 100 + sig;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	sigset_t alarm, none;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGALRM, &action, NULL));
	errno = 3;
	raise(SIGUSR1);
	printf("%d\n", errno);
	errno = 3;
	MUST(!setitimer(ITIMER_REAL, &soon, NULL));
	while (*(volatile int *)&errno == 3)
		;
	printf("%d\n", errno);
	sigemptyset(&none);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	MUST(!sigprocmask(SIG_BLOCK, &alarm, NULL)); /* else it may come before the wait */
	errno = 0;
	MUST(!setitimer(ITIMER_REAL, &soon, NULL));
	SAY(sigsuspend(&none));
	return 0;
}

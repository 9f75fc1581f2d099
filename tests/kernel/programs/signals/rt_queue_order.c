/* signal(7): realtime signals are queued in order, lower numbers first; standard signals only once. */
#include "../observe.h"
#include <signal.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("%d %d\n", sig, info->si_value.sival_int);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t all, none;

	sigfillset(&action.sa_mask);
	sigfillset(&all);
	sigemptyset(&none);
	for (int s = SIGRTMIN; s <= SIGRTMIN + 3; s++)
		MUST(!sigaction(s, &action, NULL));
	MUST(!sigaction(SIGUSR1, &action, NULL));
	MUST(!sigprocmask(SIG_SETMASK, &all, NULL));
	for (int i = 0; i < 4; i++) {
		MUST(!sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = i}));
		for (int s = SIGRTMIN + 3; s >= SIGRTMIN; s--)
			MUST(!sigqueue(getpid(), s, (union sigval){.sival_int = i * 100 + s}));
	}
	MUST(!sigprocmask(SIG_SETMASK, &none, NULL));
	return 0;
}

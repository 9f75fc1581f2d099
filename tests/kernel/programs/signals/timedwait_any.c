/* sigwaitinfo(2): takes the pending signal with the lowest number, and of one number those sent first. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

int main(void)
{
	struct timespec none = {0, 0}, wrong = {0, 1000000000}, little = {0, 3000000};
	siginfo_t info;
	sigset_t set;
	int got;

	sigfillset(&set);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 3; i++) {
		MUST(!sigqueue(getpid(), SIGRTMIN + 5, (union sigval){.sival_int = i}));
		MUST(!sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 10 + i}));
		MUST(!sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 20 + i}));
	}
	raise(SIGTERM);
	kill(getpid(), SIGTERM);
	while ((got = sigtimedwait(&set, &info, &none)) > 0)
		printf("%d code %d value %d\n", got, info.si_code,
		       info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
	SAY(sigtimedwait(&set, &info, &none));
	SAY(sigtimedwait(&set, NULL, &little));
	SAY(sigtimedwait(&set, NULL, &wrong));
	SAY(syscall(SYS_rt_sigtimedwait, &set, NULL, &none, 4));
	raise(SIGHUP);
	SAY(sigtimedwait(&set, NULL, &wrong));
	SAY(sigwaitinfo(&set, NULL));
	raise(SIGQUIT);
	SAY(sigwait(&set, &got));
	printf("%d\n", got);
	return 0;
}

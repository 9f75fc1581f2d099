/* getrlimit(2): sigqueue fails with EAGAIN when RLIMIT_SIGPENDING signals are queued; kill still sends one. */
#include "../observe.h"
#include <signal.h>
#include <sys/resource.h>

int main(void)
{
	struct rlimit limit = {0, 0};
	siginfo_t info;
	sigset_t set;

	sigfillset(&set);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	SAY(setrlimit(RLIMIT_SIGPENDING, &limit));
	SAY(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 3}));
	SAY(kill(getpid(), SIGUSR1));
	SAY(kill(getpid(), SIGRTMIN + 1));
	SAY(sigwaitinfo(&set, &info));
	printf("code %d me %d\n", info.si_code, info.si_pid == getpid());
	SAY(sigwaitinfo(&set, &info));
	printf("code %d me %d\n", info.si_code, info.si_pid == getpid());
	return 0;
}

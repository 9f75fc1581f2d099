/* sigaction(2): si_code says how a signal was sent: kill, tgkill, sigqueue, raise. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d from me %d uid %d value %d errno %d\n", sig, info->si_code, info->si_pid == getpid(),
	       info->si_uid == getuid(), info->si_code == SI_QUEUE ? info->si_value.sival_int : 0, info->si_errno);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	union sigval value = {.sival_int = 4711};

	MUST(!sigaction(SIGUSR1, &action, NULL));
	MUST(!sigaction(SIGRTMIN + 3, &action, NULL));
	SAY(kill(getpid(), SIGUSR1));
	SAY(raise(SIGUSR1));
	SAY(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	SAY(syscall(SYS_tkill, gettid(), SIGUSR1));
	SAY(sigqueue(getpid(), SIGUSR1, value));
	SAY(sigqueue(getpid(), SIGRTMIN + 3, value));
	SAY(kill(0x7ffffffe, SIGUSR1));
	SAY(kill(getpid(), 65));
	SAY(kill(getpid(), 0));
	SAY(syscall(SYS_tgkill, getpid(), -1, SIGUSR1));
	SAY(syscall(SYS_tgkill, 1, gettid(), 0));
	return 0;
}

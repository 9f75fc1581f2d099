/* execve(2): handlers become the default, ignored signals stay ignored, mask and pending ones are kept, the alternate stack is not. */
#include "../observe.h"
#include <signal.h>
#include <time.h>

static char stack[65536];

static void handler(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction now;
	siginfo_t info;
	sigset_t set;

	if (argc == 1) {
		signal(SIGUSR1, handler);
		signal(SIGUSR2, SIG_IGN);
		MUST(!sigaltstack(&alt, NULL));
		sigemptyset(&set);
		sigaddset(&set, SIGHUP);
		sigaddset(&set, SIGRTMIN + 1);
		sigprocmask(SIG_SETMASK, &set, NULL);
		raise(SIGHUP);
		MUST(!sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 6}));
		MUST(!sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 7}));
		execl("/proc/self/exe", argv[0], "again", NULL);
		MUST(0);
	}
	sigaction(SIGUSR1, NULL, &now);
	printf("USR1 default %d flags %x\n", now.sa_handler == SIG_DFL, (unsigned)now.sa_flags);
	sigaction(SIGUSR2, NULL, &now);
	printf("USR2 ignored %d\n", now.sa_handler == SIG_IGN);
	sigaltstack(NULL, &alt);
	printf("alternate stack %x\n", (unsigned)alt.ss_flags);
	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int s = 1; s < 65; s++)
		if (sigismember(&set, s) == 1)
			printf("blocked %d\n", s);
	while (sigtimedwait(&set, &info, &(struct timespec){0, 0}) > 0)
		printf("pending %d code %d value %d\n", info.si_signo, info.si_code,
		       info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
	return 0;
}

/* signalfd(2): a child that inherits the descriptor reads its own signals from it. */
#include "../observe.h"
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

int main(void)
{
	struct signalfd_siginfo got;
	sigset_t set;
	int fd, status;
	pid_t child;

	sigfillset(&set);
	MUST(!sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, 0);
	raise(SIGUSR1);
	child = fork();
	MUST(child >= 0);
	if (!child) {
		raise(SIGUSR2);
		SAY(read(fd, &got, sizeof got) == sizeof got);
		printf("child: %u code %d\n", got.ssi_signo, got.ssi_code);
		fflush(stdout);
		_exit(3);
	}
	MUST(!waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
	SAY(read(fd, &got, sizeof got) == sizeof got);
	printf("parent: %u\n", got.ssi_signo);
	fflush(stdout);
	SAY(read(fd, &got, sizeof got) == sizeof got);
	printf("parent: %u code %d status %d child %d\n", got.ssi_signo, got.ssi_code, got.ssi_status,
	       got.ssi_pid == (unsigned)child);
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}

/* setpgid(2), signal(7): terminal stops do not stop a process in an orphaned group, SIGSTOP does; the group then gets SIGHUP and SIGCONT. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static void handler(int sig)
{
	_exit(sig);
}

int main(void)
{
	int status;
	pid_t child = fork();

	MUST(child >= 0);
	if (!child) {
		MUST(setsid() == getpid());
		SAY(getpgrp() == getpid());
		SAY(setpgid(0, 0));
		SAY(kill(getpid(), SIGTSTP)); /* its own session's only group is orphaned */
		SAY(kill(getpid(), SIGTTIN));
		pid_t grand = fork();
		if (!grand) {
			signal(SIGTERM, handler);
			raise(SIGSTOP);
			for (;;)
				pause();
		}
		MUST(!waitid(P_PID, (id_t)grand, NULL, WSTOPPED));
		SAY(kill(grand, SIGTERM));
		SAY(waitpid(grand, &status, WNOHANG));
		SAY(kill(grand, SIGCONT));
		MUST(waitpid(grand, &status, 0) == grand);
		printf("status %x\n", status);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	SAY(setpgid(1, 0));
	SAY(setpgid(0, 1));
	SAY(getpgid(0x7ffffffe));
	SAY(getsid(0x7ffffffe));
	return 0;
}

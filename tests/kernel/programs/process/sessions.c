/* setsid(2): a new session and group; EPERM for a group leader; setpgid errors. */
#include "../observe.h"
#include <sys/wait.h>

int main(void)
{
	int how;
	pid_t pid = fork();

	if (!pid) {
		SAY(setpgid(0, 0));
		SAY(getpgrp() == getpid());
		SAY(setsid());
		pid = fork();
		if (!pid) {
			OK(setsid());
			printf("%d %d\n", getsid(0) == getpid(), getpgrp() == getpid());
			SAY(setpgid(0, 0));
			SAY(setpgid(getppid(), 0));
			SAY(setpgid(0, -1));
			SAY(getsid(-5));
			fflush(stdout);
			_exit(0);
		}
		MUST(waitpid(pid, &how, 0) == pid);
		_exit(3);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	return 0;
}

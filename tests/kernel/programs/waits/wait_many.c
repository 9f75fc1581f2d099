/* wait(2): any child, those of a group, with WNOWAIT and WNOHANG, usage, and errors. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	struct rusage usage;
	siginfo_t info;
	int status, sum = 0;
	pid_t group = 0;

	SAY(wait(NULL));
	for (int i = 1; i <= 4; i++) {
		pid_t child = fork();
		MUST(child >= 0);
		if (!child)
			_exit(i);
		if (i <= 2) {
			setpgid(child, group);
			group = group ? group : child;
		}
	}
	for (int i = 0; i < 2; i++) {
		MUST(waitpid(-group, &status, 0) > 0);
		sum += WEXITSTATUS(status);
	}
	printf("of the group %d\n", sum);
	SAY(waitpid(-group, &status, WNOHANG));
	MUST(!waitid(P_ALL, 0, &info, WEXITED | WNOWAIT));
	MUST(waitid(P_PID, (id_t)info.si_pid, &info, WEXITED) == 0);
	sum = info.si_status;
	MUST(wait4(0, &status, 0, &usage) > 0);
	printf("others %d\n", sum + WEXITSTATUS(status));
	SAY(waitid(P_ALL, 0, &info, WEXITED));
	SAY(waitid(P_ALL, 0, &info, 0));
	SAY(waitid(77, 0, &info, WEXITED));
	SAY(waitpid(-1, NULL, 0x1000));
	SAY(waitid(P_PIDFD, 0, &info, WEXITED));
	return 0;
}

/* waitid(2): WNOWAIT leaves the child waitable; WSTOPPED and WCONTINUED tell of stops; ECHILD and EINVAL. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>

static void show(const char *what, const siginfo_t *info, pid_t pid)
{
	printf("%s: %d %d %d %d\n", what, info->si_signo == SIGCHLD, info->si_code, info->si_status, info->si_pid == pid);
	fflush(stdout);
}

int main(void)
{
	siginfo_t info = {0};
	pid_t pid = fork();

	if (!pid) {
		raise(SIGSTOP);
		pause();
		_exit(6);
	}
	SAY(waitid(P_PID, pid, &info, 0));
	MUST(!waitid(P_PID, pid, &info, WSTOPPED));
	show("stopped", &info, pid);
	MUST(!kill(pid, SIGCONT) && !waitid(P_PID, pid, &info, WCONTINUED));
	show("continued", &info, pid);
	MUST(!kill(pid, SIGTERM) && !waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	show("exited", &info, pid);
	MUST(!waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
	show("exited", &info, pid);
	SAY(waitid(P_PID, pid, &info, WEXITED));
	SAY(waitid(99, pid, &info, WEXITED));
	SAY(waitid(P_ALL, 0, &info, WEXITED | 1 << 20));
	return 0;
}

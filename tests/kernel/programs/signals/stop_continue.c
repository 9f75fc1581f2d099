/* waitid(2): a child that stops and continues is reported with CLD_STOPPED and CLD_CONTINUED. */
#include "../observe.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, int sig, pid_t child, int options)
{
	siginfo_t info = {0};

	if (sig)
		MUST(!kill(child, sig));
	SAY(waitid(P_PID, (id_t)child, &info, options));
	printf("%s: code %d status %d signo %d\n", what, info.si_code, info.si_status, info.si_signo);
}

int main(void)
{
	pid_t child;
	int status;

	child = fork();
	MUST(child >= 0);
	if (!child)
		for (;;)
			pause();
	/* a group without a parent in another one of its session stops for SIGSTOP alone (setpgid(2)) */
	MUST(!setpgid(child, child));
	show("stop", SIGSTOP, child, WSTOPPED | WNOWAIT);
	show("again", 0, child, WSTOPPED);
	show("none", 0, child, WSTOPPED | WNOHANG);
	show("cont", SIGCONT, child, WCONTINUED);
	show("tstp", SIGTSTP, child, WSTOPPED);
	show("cont", SIGCONT, child, WCONTINUED);
	show("ttin", SIGTTIN, child, WSTOPPED | WEXITED);
	SAY(kill(child, SIGCONT));
	SAY(waitpid(child, &status, WCONTINUED) == child);
	printf("continued %d\n", WIFCONTINUED(status));
	show("kill", SIGKILL, child, WEXITED | WNOWAIT);
	show("kill", 0, child, WEXITED);
	show("gone", 0, child, WEXITED);
	return 0;
}

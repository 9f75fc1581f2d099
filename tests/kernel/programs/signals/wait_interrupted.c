/* wait(2): waitpid and waitid are restarted with SA_RESTART, and fail with EINTR without it; SIGCHLD may be the signal. */
#include "../observe.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t handled;
static pid_t child;

static void handler(int sig)
{
	(void)sig;
	if (++handled == 2)
		kill(child, SIGKILL);
}

static void nothing(int sig)
{
	(void)sig;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}}, off = {0};
	int status = 0, ready[2];
	char c;

	MUST(!pipe(ready));
	for (int way = 0; way < 4; way++) {
		action.sa_flags = way % 2 ? SA_RESTART : 0;
		MUST(!sigaction(SIGALRM, &action, NULL));
		handled = 0;
		child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(write(ready[1], "x", 1) == 1);
			for (;;)
				pause();
		}
		MUST(read(ready[0], &c, 1) == 1 && !setitimer(ITIMER_REAL, &often, NULL));
		siginfo_t info = {0};
		int got = way < 2 ? waitpid(child, &status, 0) : waitid(P_PID, (id_t)child, &info, WEXITED);
		int reason = errno;
		setitimer(ITIMER_REAL, &off, NULL);
		printf("%d: %s\n", way, got == -1 ? strerrorname_np(reason) : "ended");
		if (got == -1) {
			kill(child, SIGKILL);
			MUST(waitpid(child, &status, 0) == child);
		}
	}
	signal(SIGCHLD, nothing);
	child = fork();
	if (!child)
		_exit(5);
	SAY(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	return 0;
}

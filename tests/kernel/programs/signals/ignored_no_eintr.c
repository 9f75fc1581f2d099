/* signal(7): a signal that is ignored, or whose default is to be ignored, does not interrupt a call. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

int main(void)
{
	int fds[2], status;
	char c;

	signal(SIGUSR1, SIG_IGN);
	MUST(!pipe(fds));
	pid_t parent = getpid(), child = fork();
	MUST(child >= 0);
	if (!child) {
		for (int i = 0; i < 20; i++) {
			kill(parent, SIGUSR1);
			kill(parent, SIGWINCH);
			kill(parent, SIGCONT);
			poll(NULL, 0, 1);
		}
		MUST(write(fds[1], "x", 1) == 1);
		_exit(0); /* SIGCHLD is ignored by default */
	}
	struct pollfd one = {fds[0], POLLIN, 0};
	SAY(poll(&one, 1, -1));
	SAY(read(fds[0], &c, 1));
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}

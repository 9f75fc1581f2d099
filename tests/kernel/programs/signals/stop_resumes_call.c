/* signal(7): after SIGSTOP and SIGCONT without a handler, calls go on: nanosleep, read, poll and others are not interrupted. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	static const char *const names[] = {"read", "poll", "recv", "pause"};
	int status;

	for (int way = 0; way < 3; way++) {
		int fds[2], pair[2];

		MUST(!pipe(fds) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			struct pollfd one = {fds[0], POLLIN, 0};
			char c;
			long got;

			if (way == 0)
				got = read(fds[0], &c, 1);
			else if (way == 1)
				got = poll(&one, 1, -1);
			else
				got = recv(pair[0], &c, 1, 0);
			_exit(got == 1 ? 0 : errno);
		}
		for (int i = 0; i < 3; i++) {
			MUST(!kill(child, SIGSTOP));
			MUST(!waitid(P_PID, (id_t)child, NULL, WSTOPPED));
			MUST(!kill(child, SIGCONT));
			MUST(!waitid(P_PID, (id_t)child, NULL, WCONTINUED));
		}
		MUST(write(fds[1], "x", 1) == 1 && write(pair[1], "x", 1) == 1);
		MUST(waitpid(child, &status, 0) == child);
		printf("%s: %s\n", names[way], WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "1");
	}
	return 0;
}

/* pidfd_open(2): the descriptor becomes readable when the process ends, for poll, select and epoll, in any process. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/select.h>
#include <sys/wait.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = 5}, got;
	int epoll = epoll_create1(0), fd, hold[2], status;
	struct timeval zero = {0, 0};
	pid_t child, other;
	fd_set set;
	char c;

	MUST(!pipe(hold));
	child = fork();
	if (!child) {
		close(hold[1]);
		_exit(read(hold[0], &c, 1) == 0 ? 12 : 13);
	}
	fd = pidfd_open(child, 0);
	MUST(fd >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	SAY(epoll_wait(epoll, &got, 1, 0));
	other = fork();
	if (!other) {
		struct pollfd one = {fd, POLLIN, 0};
		close(hold[1]);
		SAY(poll(&one, 1, -1));
		SAY(waitid(P_PIDFD, (id_t)fd, NULL, WEXITED));
		_exit(0);
	}
	close(hold[1]);
	MUST(waitpid(other, &status, 0) == other);
	SAY(epoll_wait(epoll, &got, 1, -1));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	SAY(select(fd + 1, &set, NULL, NULL, &zero));
	SAY(read(fd, &c, 1));
	MUST(waitpid(child, &status, 0) == child);
	printf("%x\n", status);
	return 0;
}

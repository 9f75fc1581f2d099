/* epoll(7): a child shares the epoll set with its parent; a descriptor that one closes stays while the other has it. */
#include "../observe.h"
#include <sys/epoll.h>
#include <sys/wait.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 7}, got = {0};
	int epoll = epoll_create1(0), fds[2], more[2], status;

	MUST(!pipe(fds) && !pipe(more) && !epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		event.data.u32 = 8;
		MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, more[0], &event));
		MUST(write(more[1], "x", 1) == 1);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(epoll_wait(epoll, &got, 1, -1));
	printf("%u\n", got.data.u32);
	child = fork();
	if (!child) {
		close(more[0]);
		_exit(epoll_wait(epoll, &got, 1, 0));
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("in the child %d\n", WEXITSTATUS(status));
	close(more[0]);
	SAY(epoll_wait(epoll, &got, 1, 0));
	return 0;
}

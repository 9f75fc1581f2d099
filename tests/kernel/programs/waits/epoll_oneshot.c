/* epoll_ctl(2): EPOLLONESHOT disables after one event until EPOLL_CTL_MOD; errors of each operation. */
#include "../observe.h"
#include <sys/epoll.h>
#include <sys/syscall.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = 3}, got;
	int epoll = epoll_create1(EPOLL_CLOEXEC), fds[2], file;

	MUST(epoll >= 0 && !pipe(fds) && write(fds[1], "x", 1) == 1);
	SAY(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event));
	SAY(epoll_ctl(epoll, EPOLL_CTL_DEL, fds[0], NULL));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
	SAY(epoll_wait(epoll, &got, 1, 0));
	SAY(epoll_wait(epoll, &got, 1, 0));
	SAY(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event));
	SAY(epoll_wait(epoll, &got, 1, -1));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, 500, &event));
	SAY(epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &event));
	SAY(epoll_ctl(epoll, 77, fds[0], &event));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[1], NULL));
	file = fileno(tmpfile());
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event));
	SAY(epoll_wait(epoll, &got, 0, 0));
	SAY(syscall(SYS_epoll_wait, epoll, 8, 1, 0));
	SAY(epoll_wait(fds[0], &got, 1, 0));
	SAY(epoll_create(0));
	SAY(epoll_create1(1));
	event.events = EPOLLEXCLUSIVE | EPOLLIN;
	SAY(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event));
	SAY(epoll_ctl(epoll, EPOLL_CTL_DEL, fds[0], NULL));
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
	SAY(epoll_wait(epoll, &got, 1, 0));
	event.events = EPOLLEXCLUSIVE | EPOLLIN | EPOLLONESHOT;
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[1], &event));
	return 0;
}

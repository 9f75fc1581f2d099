/* epoll(7): an epoll descriptor can itself be watched; loops give ELOOP; a closed descriptor goes, its duplicate keeps it. */
#include "../observe.h"
#include <poll.h>
#include <sys/epoll.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN}, got[4];
	int inner = epoll_create1(0), outer = epoll_create1(0), fds[2], copy, count;

	MUST(!pipe(fds));
	event.data.fd = 1;
	SAY(epoll_ctl(inner, EPOLL_CTL_ADD, fds[0], &event));
	event.data.fd = 2;
	SAY(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
	SAY(epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
	SAY(epoll_wait(outer, got, 4, 0));
	MUST(write(fds[1], "x", 1) == 1);
	count = epoll_wait(outer, got, 4, -1);
	printf("%d: %x of %d\n", count, got[0].events, got[0].data.fd);
	struct pollfd one = {inner, POLLIN, 0};
	SAY(poll(&one, 1, -1));
	copy = dup(fds[0]);
	close(fds[0]);
	count = epoll_wait(inner, got, 4, 0);
	printf("%d: %x of %d\n", count, got[0].events, got[0].data.fd);
	SAY(epoll_ctl(inner, EPOLL_CTL_DEL, fds[0], NULL));
	SAY(epoll_ctl(inner, EPOLL_CTL_DEL, copy, NULL));
	close(copy);
	SAY(epoll_wait(inner, got, 4, 0));
	SAY(poll(&one, 1, 0));
	close(inner);
	SAY(epoll_wait(outer, got, 4, 0));
	return 0;
}

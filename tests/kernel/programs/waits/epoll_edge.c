/* epoll(7): with EPOLLET a descriptor is reported again only after something new came. */
#include "../observe.h"
#include <sys/epoll.h>
#include <sys/socket.h>

static int epoll, pair[2];

static void wait_once(const char *what)
{
	struct epoll_event events[4];
	int count = epoll_wait(epoll, events, 4, 0);

	printf("%s: %d", what, count);
	for (int i = 0; i < count; i++)
		printf(" %x/%lx", events[i].events, (unsigned long)events[i].data.u64);
	printf("\n");
}

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = 0x123456789abc};
	char some[8];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	epoll = epoll_create(1);
	SAY(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event));
	wait_once("added");
	wait_once("again");
	MUST(write(pair[1], "ab", 2) == 2);
	wait_once("written");
	wait_once("again");
	MUST(write(pair[1], "c", 1) == 1);
	wait_once("more");
	MUST(read(pair[0], some, 1) == 1);
	wait_once("read a part");
	event.data.u64 = 5;
	SAY(epoll_ctl(epoll, EPOLL_CTL_MOD, pair[0], &event));
	wait_once("modified");
	SAY(shutdown(pair[1], SHUT_WR));
	wait_once("shut down");
	close(pair[1]);
	wait_once("closed");
	wait_once("again");
	return 0;
}

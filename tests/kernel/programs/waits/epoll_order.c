/* epoll_wait(2): with few places in the list the ready descriptors come in turn, so that none starves. */
#include "../observe.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN}, got[2];
	int epoll = epoll_create1(0), fds[5];

	for (int i = 0; i < 5; i++) {
		fds[i] = eventfd(1, 0);
		event.data.u32 = (unsigned)i;
		MUST(fds[i] >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event));
	}
	for (int turn = 0; turn < 6; turn++) {
		int count = epoll_wait(epoll, got, 2, -1);
		for (int i = 0; i < count; i++)
			printf(" %u", got[i].data.u32);
		printf("\n");
	}
	return 0;
}

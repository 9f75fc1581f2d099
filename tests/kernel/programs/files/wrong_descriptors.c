/* read(2): errors by kind and mode of the descriptor; counts of 0 and more than SSIZE_MAX. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

int main(void)
{
	char text[16];
	int writing, reading, dir, ep, two[2];
	volatile size_t more = (size_t)1 << 62;

	MUST((writing = open("file", O_CREAT | O_WRONLY, 0600)) >= 0 && (reading = open("file", O_RDONLY)) >= 0);
	MUST((dir = open(".", O_RDONLY)) >= 0 && (ep = epoll_create1(0)) >= 0 && !pipe(two));
	SAY(read(writing, text, 1));
	SAY(write(reading, text, 1));
	SAY(read(dir, text, 1));
	SAY(pread(dir, text, 1, 0));
	SAY(write(dir, text, 1));
	SAY(read(ep, text, 1));
	SAY(write(ep, text, 1));
	SAY(read(two[1], text, 1));
	SAY(write(two[0], text, 1));
	SAY(read(eventfd(1, 0), text, 4));
	SAY(write(eventfd(1, 0), text, 4));
	SAY(read(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), text, 8));
	SAY(read(reading, text, 0));
	SAY(read(dir, text, 0));
	SAY(read(99, text, 0));
	SAY(write(writing, text, 0));
	SAY(write(writing, "0123456789", 10));
	SAY(pread(reading, text, more, 4));
	struct epoll_event event = {.events = EPOLLIN};
	SAY(epoll_ctl(ep, EPOLL_CTL_ADD, reading, &event));
	SAY(epoll_ctl(ep, EPOLL_CTL_ADD, dir, &event));
	SAY(epoll_ctl(ep, EPOLL_CTL_ADD, two[0], &event));
	SAY(epoll_ctl(ep, EPOLL_CTL_ADD, two[0], &event));
	return 0;
}

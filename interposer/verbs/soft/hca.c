#include "hca.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

struct hca hca = {.listener = -1, .epoll = -1, .touched = {&hca.touched, &hca.touched}};

int hca_keep(int fd)
{
	if (fd < 0)
		return -errno;
	return hca.above->keep_descriptor ? hca.above->keep_descriptor(fd) : fd;
}

size_t hca_copy(void *to, const void *from, size_t len)
{
	if (hca.above->copy)
		return hca.above->copy(to, from, len);
	memcpy(to, from, len);
	return len;
}

bool hca_copy_up(void *upper, const void *from, size_t len)
{
	size_t done = len ? hca_copy(upper, from, len) : 0;
	if (done)
		hca.above->wrote(upper, done);
	return done == len;
}

uint64_t hca_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int hca_watch(int fd, void *conn, bool add, bool output)
{
	struct epoll_event e = {.events = EPOLLIN | (output ? EPOLLOUT : 0), .data.ptr = conn};
	return epoll_ctl(hca.epoll, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e) ? -errno : 0;
}

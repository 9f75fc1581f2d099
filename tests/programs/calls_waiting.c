/* epoll, poll, select, eventfd, timerfd, inotify: calls that wait for something. */
#include "calls.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static void nothing(int sig)
{
}

int main(void)
{
	int ev = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC), tf = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	int ep = epoll_create1(EPOLL_CLOEXEC), in = inotify_init1(IN_NONBLOCK);
	uint64_t n;
	NEED(ev >= 0 && tf >= 0 && ep >= 0 && in >= 0);
	NEED(read(ev, &n, 8) == 8 && n == 3 && read(ev, &n, 8) < 0 && errno == EAGAIN);
	struct itimerspec t = {.it_value.tv_nsec = 2000000, .it_interval.tv_nsec = 1000000}, old;
	NEED(timerfd_settime(tf, 0, &t, &old) == 0 && timerfd_gettime(tf, &old) == 0);
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = 0x123456789abcdef}, got[4];
	NEED(epoll_ctl(ep, EPOLL_CTL_ADD, tf, &e) == 0);
	e.data.u64 = 7;
	NEED(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e) == 0);
	NEED(epoll_wait(ep, got, 4, 5000) == 1 && got[0].data.u64 == 0x123456789abcdef);
	NEED(read(tf, &n, 8) == 8 && n >= 1);
	n = 5;
	NEED(write(ev, &n, 8) == 8 && epoll_pwait(ep, got, 4, 5000, NULL) >= 1);
	struct timespec limit = {5, 0};
	NEED(epoll_pwait2(ep, got, 4, &limit, NULL) >= 1);

	struct pollfd p[2] = {{ev, POLLIN, 0x55}, {-1, POLLIN, 0x55}};
	NEED(poll(p, 2, 1000) == 1 && p[1].revents == 0);
	limit = (struct timespec){5, 0};
	NEED(ppoll(p, 2, &limit, NULL) == 1);
	fd_set r, w;
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(ev, &r);
	FD_SET(tf, &r);
	FD_SET(1, &w);
	struct timeval tv = {5, 0};
	NEED(select(tf + 2, &r, &w, NULL, &tv) >= 1);
	NEED(read(ev, &n, 8) == 8 && n == 5);

	/* ended by a signal, the first or, where that came before the call, a later one: what the kernel has written by
	 * then counts */
	struct sigaction sa = {.sa_handler = nothing};
	struct itimerval it = {.it_value.tv_usec = 5000, .it_interval.tv_usec = 50000}, none = {0};
	sigaction(SIGALRM, &sa, NULL);
	p[0].revents = 0x77;
	setitimer(ITIMER_REAL, &it, NULL);
	NEED(poll(p, 1, 10000) == -1 && errno == EINTR);
	printf("%x\n", p[0].revents & 0);
	limit = (struct timespec){10, 0};
	NEED(ppoll(NULL, 0, &limit, NULL) == -1 && errno == EINTR);
	tv = (struct timeval){10, 0};
	NEED(select(0, NULL, NULL, NULL, &tv) == -1 && errno == EINTR);
	setitimer(ITIMER_REAL, &none, NULL);

	char dir[] = "/tmp/rdb-inotify-XXXXXX", name[64], events[1024];
	NEED(mkdtemp(dir));
	int wd = inotify_add_watch(in, dir, IN_CREATE | IN_DELETE);
	NEED(wd > 0);
	snprintf(name, sizeof(name), "%s/file", dir);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	unlink(name);
	ssize_t len = read(in, events, sizeof(events));
	NEED(len >= (ssize_t)(2 * sizeof(struct inotify_event)));
	NEED(inotify_rm_watch(in, wd) == 0 && rmdir(dir) == 0);
	puts("ok");
}

/* asking HOW [TURNS]: asks in vain, over and over, or so many times, and then exits with 3. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static int in, epoll, sockets[2], word = 1;
static pid_t child;
static const struct timespec at_once;
static sigset_t none;

static void with_poll(void)
{
	struct pollfd one = {.fd = in, .events = POLLIN};
	poll(&one, 1, 0);
}

static void with_ppoll(void)
{
	struct pollfd one = {.fd = in, .events = POLLIN};
	ppoll(&one, 1, &at_once, &none);
}

static void with_select(void)
{
	fd_set set;
	struct timeval zero = {0};
	FD_ZERO(&set);
	FD_SET(in, &set);
	select(in + 1, &set, NULL, NULL, &zero);
}

static void with_pselect(void)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(in, &set);
	pselect(in + 1, &set, NULL, NULL, &at_once, &none);
}

static void with_epoll(void)
{
	struct epoll_event one;
	epoll_wait(epoll, &one, 1, 0);
}

static void with_epoll_pwait(void)
{
	struct epoll_event one;
	epoll_pwait(epoll, &one, 1, 0, &none);
}

static void with_read(void)
{
	char byte;
	(void)!read(in, &byte, 1);
}

static void with_recv(void)
{
	char byte;
	recv(sockets[0], &byte, 1, MSG_DONTWAIT);
}

static void with_ioctl(void)
{
	int bytes;
	ioctl(in, FIONREAD, &bytes);
}

static void with_yield(void)
{
	sched_yield();
}

static void with_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
}

static void with_gettimeofday(void)
{
	struct timeval now;
	gettimeofday(&now, NULL);
}

static void with_time(void)
{
	time(NULL);
}

static void with_tsc(void)
{
	*(volatile unsigned long long *)&(unsigned long long){0} = __rdtsc();
}

static void with_nanosleep(void)
{
	nanosleep(&at_once, NULL);
}

static void with_futex(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0); /* it is not 0 */
}

static void with_futex_timeout(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &at_once, NULL, 0);
}

static void with_waitpid(void)
{
	waitpid(child, NULL, WNOHANG);
}

static void with_kill(void)
{
	kill(getpid(), 0);
}

static void with_sigtimedwait(void)
{
	sigtimedwait(&none, NULL, &at_once);
}

static const struct {
	const char *name;
	void (*ask)(void);
} ways[] = {
#define WAY(name) {#name, with_##name}
	WAY(poll),  WAY(ppoll),	 WAY(select),	   WAY(pselect), WAY(epoll),	 WAY(epoll_pwait), WAY(read),
	WAY(recv),  WAY(ioctl),	 WAY(yield),	   WAY(clock),	 WAY(gettimeofday), WAY(time),	   WAY(tsc),
	WAY(nanosleep), WAY(futex), WAY(futex_timeout), WAY(waitpid), WAY(kill), WAY(sigtimedwait),
};

int main(int argc, char **argv)
{
	int ends[2], more[2];
	struct epoll_event wanted = {.events = EPOLLIN};
	const long turns = argc > 2 ? atol(argv[2]) : 0;
	if (argc < 2 || pipe2(ends, O_NONBLOCK) || pipe(more) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 2;
	in = ends[0];
	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, in, &wanted);
	if (!strcmp(argv[1], "waitpid") && !(child = fork())) {
		char byte;
		close(more[1]);
		_exit((int)read(more[0], &byte, 1)); /* until the parent is gone */
	}
	puts("begins");
	fflush(stdout);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name)) {
			for (long n = 0; !turns || n < turns; n++)
				ways[i].ask();
			return 3;
		}
	return 2;
}

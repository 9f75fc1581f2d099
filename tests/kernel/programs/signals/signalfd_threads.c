/* signalfd(2): a thread reads signals of the process and its own, not those of another thread. */
#include "../observe.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static int fd;

static void *reads(void *arg)
{
	struct signalfd_siginfo got;
	struct pollfd one = {fd, POLLIN, 0};

	SAY(poll(&one, 1, 0));
	MUST(!pthread_kill(pthread_self(), SIGUSR2));
	SAY(poll(&one, 1, 0));
	SAY(read(fd, &got, sizeof got) == sizeof got);
	printf("%u code %d\n", got.ssi_signo, got.ssi_code);
	MUST(!kill(getpid(), SIGTERM));
	SAY(read(fd, &got, sizeof got) == sizeof got);
	printf("%u code %d\n", got.ssi_signo, got.ssi_code);
	SAY(read(fd, &got, sizeof got));
	return arg;
}

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN}, ready;
	int epoll = epoll_create1(0);
	pthread_t thread;
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	MUST(fd >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	SAY(epoll_wait(epoll, &ready, 1, 0));
	raise(SIGUSR1); /* for this thread */
	SAY(epoll_wait(epoll, &ready, 1, 0));
	MUST(!pthread_create(&thread, NULL, reads, NULL) && !pthread_join(thread, NULL));
	struct signalfd_siginfo got;
	SAY(read(fd, &got, sizeof got) == sizeof got);
	printf("%u code %d\n", got.ssi_signo, got.ssi_code);
	return 0;
}

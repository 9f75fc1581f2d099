/* Signals at calls with a time-out.  Those that the program blocks do not make a wait longer, nor change what it gave;
 * one that comes shortly before a sleep ends it, and what is left is told; neither connect(2) nor sched_yield(2), nor a call
 * that does not wait, is interrupted by one that came before; a futex's wait with a time-out is never restarted. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 30, TURNS = 60000, WAIT_MS = 50 };

static volatile sig_atomic_t heard;
static volatile long turns;
static int empty[2], word;

static void on_alarm(int sig)
{
	const struct itimerval none = {{0, 0}, {0, 0}};
	(void)sig;
	if (++heard % 100 == 0)
		setitimer(ITIMER_REAL, &none, NULL);
}

static void timer(long us, long every_us)
{
	const struct itimerval how = {{0, every_us}, {0, us}};
	if (setitimer(ITIMER_REAL, &how, NULL))
		abort();
}

static void failed(const char *what, int try)
{
	printf("%s, try %d: errno %d\n", what, try, errno);
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* With a signal every 9 ms that is blocked. */
static void waits(void)
{
	struct timespec sleep = {.tv_nsec = WAIT_MS * 1000000l}, futex = sleep, left = sleep;
	struct timeval select_left = {.tv_usec = WAIT_MS * 1000l};
	struct pollfd fd = {.fd = empty[0], .events = POLLIN};
	struct epoll_event event;
	int epoll = epoll_create1(0);
	double begun = now_ms();
	if (nanosleep(&sleep, &sleep) || sleep.tv_nsec != WAIT_MS * 1000000l)
		failed("sleep", 0);
	if (poll(&fd, 1, WAIT_MS))
		failed("poll", 0);
	if (syscall(SYS_ppoll, &fd, 1, &left, NULL, 8) || left.tv_nsec)
		failed("ppoll", 0);
	if (select(0, NULL, NULL, NULL, &select_left) || select_left.tv_usec)
		failed("select", 0);
	if (epoll_wait(epoll, &event, 1, WAIT_MS))
		failed("epoll_wait", 0);
	if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &futex, NULL, 0) != -1 || errno != ETIMEDOUT)
		failed("futex", 0);
	if (now_ms() - begun < 6 * WAIT_MS)
		failed("all were too short", 0);
	close(epoll);
}

static void *other(void *none)
{
	char c;
	if (read(empty[0], &c, 1))
		abort();
	return none;
}

static void compute(int try)
{
	timer(500, 0);
	for (turns = 0; turns < (long)try * TURNS;)
		turns++;
}

static void shortly_before(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(name);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(server, (struct sockaddr *)&name, sizeof(sa_family_t)) || listen(server, 10))
		failed("listen", 0);
	getsockname(server, (struct sockaddr *)&name, &len);
	for (int try = 0; try < TRIES; try++) {
		struct timespec sleep = {.tv_nsec = 2000000}, left = {77, 77};
		int client = socket(AF_UNIX, SOCK_STREAM, 0);
		compute(try);
		/* twice: what is left is up to the end of the timer's slack (prctl(2), PR_SET_TIMERSLACK) */
		if (nanosleep(&sleep, &left) && (left.tv_sec || left.tv_nsec > 2 * sleep.tv_nsec))
			failed("what is left", try);
		compute(try);
		if (connect(client, (struct sockaddr *)&name, len))
			failed("connect", try);
		close(accept(server, NULL, NULL));
		close(client);
		compute(try);
		if (sched_yield())
			failed("sched_yield", try);
		compute(try);
		if (recv(server, &name, 1, MSG_DONTWAIT) != -1 || errno == EINTR)
			failed("recv that does not wait", try);
	}
	close(server);
}

static void futex_ends(void)
{
	struct sigaction again = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct timespec long_after = {.tv_sec = 20};
	if (sigaction(SIGALRM, &again, NULL))
		failed("sigaction", 0);
	timer(20000, 20000); /* until it has heard some, so that the wait ends anyhow */
	if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &long_after, NULL, 0) != -1 || errno != EINTR)
		failed("futex with SA_RESTART", heard);
	timer(0, 0);
}

int main(void)
{
	struct sigaction how = {.sa_handler = on_alarm};
	pthread_t thread;
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (pipe(empty) || sigaction(SIGALRM, &how, NULL))
		return 1;
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	timer(9000, 9000);
	waits();
	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	waits();
	timer(0, 0);
	close(empty[1]);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	shortly_before();
	futex_ends();
	puts("fine");
	return 0;
}

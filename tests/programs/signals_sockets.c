/* Time-outs of sockets (SO_RCVTIMEO, SO_SNDTIMEO): signals that the program blocks do not make a wait longer, and one that
 * it hears ends it whatever SA_RESTART says; alone, and beside another thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60, LARGE = 1 << 20 };

static int stream[2], full[2], part[2], server, client, ends[2];
static char large[LARGE], bytes[64];
static struct sockaddr_un name = {.sun_family = AF_UNIX};
static socklen_t name_len = sizeof(name);

static void on_alarm(int sig)
{
	(void)sig;
}

static void every(long us)
{
	const struct itimerval how = {{0, us}, {0, us}};
	if (setitimer(ITIMER_REAL, &how, NULL))
		abort();
}

static void time_out(int fd, int option, long ms)
{
	const struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	if (setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv)))
		abort();
}

static void time_outs(long ms)
{
	time_out(stream[0], SO_RCVTIMEO, ms);
	time_out(full[0], SO_SNDTIMEO, ms);
	time_out(part[0], SO_SNDTIMEO, ms);
	time_out(server, SO_RCVTIMEO, ms);
	time_out(client, SO_SNDTIMEO, ms);
}

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double begun;

/* What it answered; where that is not a signal's doing, whether it had waited for so long. */
static void told(const char *call, long answer)
{
	const int failed = answer < 0 ? errno : 0;
	const int at_once = failed != EINTR && now_ms() - begun < WAIT_MS - 1;
	printf("%s: %s, at once: %d\n", call, failed ? strerrorname_np(failed) : "fine", at_once);
	begun = now_ms();
}

static void all(void)
{
	struct iovec where = {bytes, sizeof(bytes)};
	struct msghdr one = {.msg_iov = &where, .msg_iovlen = 1};
	struct mmsghdr some[2] = {{.msg_hdr = one}, {.msg_hdr = one}};
	begun = now_ms();
	told("recv", recv(stream[0], bytes, sizeof(bytes), 0));
	told("recvmsg", recvmsg(stream[0], &one, 0));
	told("recvmmsg", recvmmsg(stream[0], some, 2, 0, NULL));
	told("read", read(stream[0], bytes, sizeof(bytes)));
	told("readv", readv(stream[0], &where, 1));
	told("accept", accept(server, NULL, NULL));
	told("send", send(full[0], bytes, 1, 0));
	told("sendmsg", sendmsg(full[0], &one, 0));
	told("write", write(full[0], bytes, 1));
	told("connect", connect(client, (struct sockaddr *)&name, name_len));
}

/* Of much a part goes. */
static void much(void)
{
	begun = now_ms();
	const long answer = send(part[0], large, LARGE, 0);
	printf("a part: %d, at once: %d\n", answer > 0 && answer < LARGE, now_ms() - begun < WAIT_MS - 1);
	while (recv(part[1], large, LARGE, MSG_DONTWAIT) > 0)
		;
}

static void both(int restart)
{
	struct sigaction how = {.sa_handler = on_alarm, .sa_flags = restart ? SA_RESTART : 0};
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (sigaction(SIGALRM, &how, NULL))
		abort();
	time_outs(WAIT_MS);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	every(9000);
	all();
	much();
	every(0);
	time_outs(60000);
	every(70000);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	all();
	every(0);
}

static void *other(void *none)
{
	char c;
	return read(ends[0], &c, 1) == 1 ? none : ends;
}

int main(void)
{
	sigset_t alarm;
	pthread_t thread;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	server = socket(AF_UNIX, SOCK_STREAM, 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	const int first = socket(AF_UNIX, SOCK_STREAM, 0);
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, stream) || socketpair(AF_UNIX, SOCK_STREAM, 0, full) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, part) || bind(server, (struct sockaddr *)&name, sizeof(sa_family_t)))
		return 1;
	if (listen(server, 0) || getsockname(server, (struct sockaddr *)&name, &name_len) ||
	    connect(first, (struct sockaddr *)&name, name_len))
		return 1;
	while (send(full[0], large, LARGE, MSG_DONTWAIT) > 0)
		;
	const int queued = server;
	server = socket(AF_UNIX, SOCK_STREAM, 0); /* nobody connects to this one */
	if (bind(server, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, sizeof(sa_family_t)) ||
	    listen(server, 1))
		return 1;
	both(0);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	both(1);
	if (write(ends[1], "x", 1) != 1 || pthread_join(thread, NULL))
		return 1;
	close(queued);
	puts("over");
	return 0;
}

/* A thread makes calls that wait until all of what they ask for has come or gone.  Another computes meanwhile, longer
 * than its slice, before it sends or takes each part.  Prints what the calls have moved. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 4, BIG = 100000 };

static int near_end, far_end;
static char room[MESSAGES][BIG];
static struct mmsghdr messages[MESSAGES];
static struct iovec parts[MESSAGES];
static struct sockaddr_un name;
static socklen_t name_len;
static long (*call)(void);
static long moved;
static int why;
static struct {
	volatile int turn;
	char text[60];
} page __attribute__((aligned(4096))); /* what comes lies beside what is computed */

static void compute(void)
{
	struct timespec now, until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (until.tv_nsec + 60000000) / 1000000000;
	until.tv_nsec = (until.tv_nsec + 60000000) % 1000000000;
	do {
		for (page.turn = 0; page.turn < 1000000; page.turn++)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
}

static void vector(int n, size_t len)
{
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < n; i++) {
		parts[i] = (struct iovec){room[i], len};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
}

static long all_messages(void)
{
	vector(MESSAGES, 100);
	return recvmmsg(near_end, messages, MESSAGES, 0, NULL);
}

static long some_messages(void)
{
	vector(MESSAGES, 100);
	return recvmmsg(near_end, messages, MESSAGES, MSG_WAITFORONE, NULL);
}

/* The time is over when the first message comes (recvmmsg(2), "Bugs"). */
static long timed_messages(void)
{
	struct timespec time = {.tv_nsec = 1};
	vector(MESSAGES, 100);
	const long n = recvmmsg(near_end, messages, MESSAGES, 0, &time);
	return n == 1 && !time.tv_sec && !time.tv_nsec ? 1 : -2;
}

/* Each message may take that long. */
static long late_messages(void)
{
	const struct timeval time = {.tv_sec = 3};
	vector(MESSAGES, 100);
	setsockopt(near_end, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	return recvmmsg(near_end, messages, MESSAGES, 0, NULL);
}

static long whole_message(void)
{
	vector(2, 5);
	return recvmsg(near_end, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, MSG_WAITALL);
}

static long whole_part(void)
{
	return recv(near_end, room[0], 10, MSG_WAITALL);
}

static long sent_messages(void)
{
	vector(MESSAGES, 1);
	for (int i = 0; i < MESSAGES; i++) {
		messages[i].msg_hdr.msg_name = &name;
		messages[i].msg_hdr.msg_namelen = name_len;
	}
	return sendmmsg(near_end, messages, MESSAGES, 0);
}

static long from_a_pipe(void)
{
	const struct iovec part = {page.text, sizeof(page.text)};
	return preadv2(near_end, &part, 1, -1, 0);
}

static long spliced(void)
{
	const struct iovec part = {page.text, sizeof(page.text)};
	return vmsplice(near_end, &part, 1, 0);
}

static long into_a_pipe(void)
{
	vector(MESSAGES, BIG);
	return pwritev2(near_end, parts, MESSAGES, -1, 0);
}

static void send_parts(int n)
{
	for (int i = 0; i < n; i++) {
		compute();
		if (write(far_end, "part", 4) != 4)
			perror("write");
	}
}

static void take_messages(void)
{
	char some[200];
	int n = 0;
	for (compute(); recv(far_end, some, sizeof(some), MSG_DONTWAIT) > 0; n++)
		if (n % 3 == 0)
			compute();
}

static void take_all(long n)
{
	static char some[BIG];
	for (long got = 1; n > 0 && got > 0; n -= got) {
		compute();
		got = read(far_end, some, sizeof(some));
	}
}

static void *calls(void *unused)
{
	moved = call();
	why = moved < 0 ? errno : 0;
	return unused;
}

static pthread_t begin(const char *what, long (*made)(void))
{
	pthread_t thread;
	printf("%s: ", what);
	call = made;
	pthread_create(&thread, NULL, calls, NULL);
	return thread;
}

static void end(pthread_t thread)
{
	int left = 0;
	socklen_t len = sizeof(left);
	pthread_join(thread, NULL);
	getsockopt(near_end, SOL_SOCKET, SO_ERROR, &left, &len);
	printf("%ld, error %d, left %d\n", moved, why, left);
	close(near_end);
	close(far_end);
}

static void ends(int (*make)(int[2]), int back)
{
	int made[2];
	if (make(made))
		perror("make");
	near_end = made[back];
	far_end = made[!back];
}

static int stream(int made[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, made);
}

static int datagrams(int made[2])
{
	return socketpair(AF_UNIX, SOCK_DGRAM, 0, made);
}

static void received(const char *what, long (*made)(void), int (*make)(int[2]), int n)
{
	ends(make, 0);
	const pthread_t thread = begin(what, made);
	send_parts(n);
	end(thread);
}

static void count(int turns)
{
	for (page.turn = 0; page.turn < turns; page.turn++)
		;
}

/* It comes in the middle of a computation without calls. */
static void from_child(const char *what, long (*made)(void))
{
	ends(pipe, 0);
	const pthread_t thread = begin(what, made);
	count(40000000);
	const pid_t child = fork();
	if (!child)
		_exit(write(far_end, "part", 4) != 4);
	count(60000000);
	if (waitpid(child, NULL, 0) != child)
		perror("child");
	end(thread);
}

/* The queue has room for one message. */
static void sent(void)
{
	name.sun_family = AF_UNIX;
	name_len = sizeof(name);
	far_end = socket(AF_UNIX, SOCK_DGRAM, 0);
	near_end = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(far_end, (void *)&name, sizeof(sa_family_t)) || getsockname(far_end, (void *)&name, &name_len))
		perror("bind");
	while (sendto(near_end, "x", 1, MSG_DONTWAIT, (void *)&name, name_len) == 1)
		;
	if (recv(far_end, room[0], 1, 0) != 1)
		perror("recv");
	const pthread_t thread = begin("sendmmsg", sent_messages);
	take_messages();
	end(thread);
}

int main(void)
{
	received("recvmmsg", all_messages, datagrams, MESSAGES);
	received("recvmmsg of a stream", all_messages, stream, MESSAGES);
	received("recvmmsg for one", some_messages, datagrams, 1);
	received("recvmmsg for a while", timed_messages, datagrams, 1);
	received("recvmmsg late", late_messages, datagrams, MESSAGES);
	received("recvmmsg too late", late_messages, datagrams, 2);
	received("recvmsg", whole_message, stream, 3);
	received("recvmsg of a datagram", whole_message, datagrams, 1);
	received("recv", whole_part, stream, 3);
	received("recv of a datagram", whole_part, datagrams, 1);
	from_child("preadv2", from_a_pipe);
	from_child("vmsplice", spliced);
	sent();
	ends(pipe, 1);
	const pthread_t thread = begin("pwritev2", into_a_pipe);
	take_all(MESSAGES * BIG);
	end(thread);
	return 0;
}

/* While another thread waits: receiving with flags that say that the call is not to wait, from where nothing is. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *other(void *none)
{
	char c;
	return read(ends[0], &c, 1) == 1 ? none : ends;
}

static void told(const char *call, long answer)
{
	printf("%s: %ld, errno %d\n", call, answer, answer < 0 ? errno : 0);
}

int main(void)
{
	char bytes[8];
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr one = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr some[2] = {{.msg_hdr = one}, {.msg_hdr = one}};
	struct sockaddr_in anywhere = {.sin_family = AF_INET};
	int stream[2], datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	pthread_t thread;
	void *wrong;

	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, stream) ||
	    bind(datagrams, (struct sockaddr *)&anywhere, sizeof(anywhere)) ||
	    pthread_create(&thread, NULL, other, NULL))
		return 1;
	told("recv", recv(stream[0], bytes, sizeof(bytes), MSG_DONTWAIT));
	told("recvmsg", recvmsg(stream[0], &one, MSG_DONTWAIT));
	told("recvmmsg", recvmmsg(datagrams, some, 2, MSG_DONTWAIT, NULL));
	told("errors", recvmsg(datagrams, &one, MSG_ERRQUEUE));
	told("send", send(stream[1], "abc", 3, MSG_DONTWAIT));
	told("recv", recv(stream[0], bytes, sizeof(bytes), MSG_DONTWAIT));
	told("write", write(ends[1], "x", 1));
	pthread_join(thread, &wrong);
	return wrong != NULL;
}

/* Three threads wait, each in one call for nothing: select(2), ppoll(2), and recv(2) on a socket with a time-out that ends
 * shortly before; then the program asks for a checkpoint.  The lines are in the order in which they end, with what the
 * first two are told is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "../../interposer/include/rdb.h"

enum { SOCKET_S = 3, WAIT_S = 4, BEFORE_S = 1 };

static int stream[2];

static void *selects(void *none)
{
	struct timeval left = {.tv_sec = WAIT_S};
	const int answer = select(0, NULL, NULL, NULL, &left);
	printf("select %d, left %d\n", answer, left.tv_sec || left.tv_usec);
	return none;
}

static void *polls(void *none)
{
	struct timespec left = {.tv_sec = WAIT_S};
	const long answer = syscall(SYS_ppoll, NULL, 0, &left, NULL, 8);
	printf("ppoll %ld, left %d\n", answer, left.tv_sec || left.tv_nsec);
	return none;
}

static void *receives(void *none)
{
	char byte;
	const long answer = recv(stream[0], &byte, 1, 0);
	printf("recv %ld, EAGAIN %d\n", answer, errno == EAGAIN);
	return none;
}

int main(void)
{
	const struct timeval tv = {.tv_sec = SOCKET_S};
	pthread_t threads[3];

	setvbuf(stdout, NULL, _IOLBF, 1 << 12);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, stream) ||
	    setsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    pthread_create(&threads[0], NULL, receives, NULL) || pthread_create(&threads[1], NULL, selects, NULL) ||
	    pthread_create(&threads[2], NULL, polls, NULL))
		return 1;
	sleep(BEFORE_S);
	if (rdb_checkpoint()) /* at once, however long it takes to start a command that asks for it */
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

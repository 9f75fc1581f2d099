/* A memfd larger than what is compared at every event, and a child that may write to it: shared_owners ends|maps|opens|passes.
 * The child has ended at once; has it mapped; has its descriptor alone, as another program, and maps it later; or has ended and
 * left the descriptor in a socket, where another child, which is older than the memory, finds it later. */
#include "calls.h"
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { BYTES = 2 << 20, TURNS = 40 };

static int *map(int fd)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	return p;
}

static union {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
} control;
static char byte;
static struct iovec iov = {&byte, 1};
static struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};

static void pass(int socket, int fd)
{
	control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	message.msg_controllen = sizeof(control);
	NEED(sendmsg(socket, &message, 0) == 1);
}

static int receive(int socket)
{
	int fd;
	message.msg_controllen = sizeof(control);
	NEED(recvmsg(socket, &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* `socket`: a socket in which the descriptor is, else -1. */
static void answer(int from, int to, int fd, int *p, int socket)
{
	for (int turn = 0; read(from, &byte, 1) == 1; turn++) {
		if (!p && turn == TURNS / 2)
			p = map(socket < 0 ? fd : receive(socket));
		if (p)
			p[turn * 1000] = turn + 1;
		NEED(write(to, &byte, 1) == 1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int asks[2], answers[2], way[2];
	char number[3][12];
	const bool alone = *argv[1] == 'e' || *argv[1] == 'p';
	NEED(argc >= 2);
	if (argc == 5)
		answer(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), NULL, -1);
	NEED(pipe(asks) == 0 && pipe(answers) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, way) == 0);
	if (*argv[1] == 'p' && fork() == 0) {
		close(asks[1]);
		answer(asks[0], answers[1], -1, NULL, way[1]);
	}
	const int fd = memfd_create("shared", 0);
	NEED(fd >= 0 && ftruncate(fd, BYTES) == 0);
	int *p = map(fd), sum = 0;
	const pid_t child = fork();
	if (child == 0) {
		close(asks[1]);
		if (*argv[1] == 'p')
			pass(way[0], fd);
		if (alone)
			_exit(0);
		if (*argv[1] == 'm')
			answer(asks[0], answers[1], fd, p, -1);
		snprintf(number[0], 12, "%d", asks[0]);
		snprintf(number[1], 12, "%d", answers[1]);
		snprintf(number[2], 12, "%d", fd);
		execl(argv[0], argv[0], argv[1], number[0], number[1], number[2], NULL);
	}
	if (alone)
		NEED(waitpid(child, NULL, 0) == child);
	for (int turn = 0; turn < TURNS; turn++) {
		p[turn * 1000 + 1] = turn;
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		if (*argv[1] != 'e')
			NEED(write(asks[1], &byte, 1) == 1 && read(answers[0], &byte, 1) == 1);
		sum = sum * 31 + p[turn * 1000];
		getppid();
	}
	close(asks[1]);
	printf("%d\n", sum);
	return 0;
}

/* shared_ways WAY HOW [FILE]: three processes share memory in that way and hand on a number, 50 times round, by looking at it
 * (spin), by looking and giving way (yield), or by semaphores in it (sem). */
#include "calls.h"
#include <semaphore.h>
#include <stdatomic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef ROUNDS
#define ROUNDS 50
#endif
enum { N = 3, LEN = 4096, LARGE = 1100 << 20 };

struct box {
	atomic_int turn, joined;
	volatile unsigned sum;
	sem_t sem[N];
};

static void *map(int fd)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	return p;
}

static void play(struct box *b, int me, const char *how)
{
	const int sem = !strcmp(how, "sem"), yield = !strcmp(how, "yield");
	unsigned h = 0;
	char line[64];
	atomic_fetch_add(&b->joined, 1);
	while (b->joined < N)
		sched_yield();
	for (int r = 0; r < ROUNDS; r++) {
		if (sem)
			NEED(!sem_wait(&b->sem[me]));
		while (!sem && atomic_load(&b->turn) % N != me)
			if (yield)
				sched_yield();
		b->sum = b->sum * 31 + (unsigned)me;
		h = h * 7 + b->sum;
		atomic_fetch_add(&b->turn, 1);
		if (sem)
			NEED(!sem_post(&b->sem[(me + 1) % N]));
	}
	const int n = snprintf(line, sizeof(line), "%d %x\n", me, h);
	NEED(write(1, line, (size_t)n) == n);
	_exit(0);
}

static struct box *begun(struct box *b)
{
	for (int i = 0; i < N; i++)
		NEED(!sem_init(&b->sem[i], 1, i == 0));
	return b;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

static void pass(int sock, int fd)
{
	union control u = {0};
	struct iovec io = {"x", 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	u.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(&u.head), &fd, sizeof(fd));
	NEED(sendmsg(sock, &m, 0) == 1);
}

static int passed(int sock)
{
	union control u;
	char byte;
	int fd;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	NEED(recvmsg(sock, &m, 0) == 1);
	memcpy(&fd, CMSG_DATA(&u.head), sizeof(fd));
	return fd;
}

int main(int argc, char **argv)
{
	const char *way = argv[1], *how = argv[2];
	char name[64], me[8];
	int fd = -1, socks[N][2], status, bad = 0;
	struct box *b;
	const char *path = argv[3];
	if (argc > 4) { /* executed by one of the processes */
		fd = !strcmp(way, "exec") ? shm_open(path, O_RDWR, 0600) : open(path, O_RDWR);
		play(map(fd), atoi(argv[4]), how);
	}
	snprintf(name, sizeof(name), "/rdb-ways-%d", getpid());
	if (!strcmp(way, "memfd") || !strcmp(way, "passed"))
		fd = memfd_create("ways", 0);
	else if (!strcmp(way, "shm") || !strcmp(way, "exec"))
		fd = shm_open(path = name, O_RDWR | O_CREAT, 0600);
	else if (!strncmp(way, "file", 4))
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	NEED(fd < 0 || !ftruncate(fd, LEN));
	for (int i = 0; i < N && !strcmp(way, "passed"); i++) { /* before the memory is mapped */
		NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks[i]));
		if (!fork()) {
			close(fd);
			play(map(passed(socks[i][1])), i, how);
		}
	}
	if (!strcmp(way, "sysv")) {
		const int id = shmget(IPC_PRIVATE, LEN, 0600 | IPC_CREAT);
		b = shmat(id, NULL, 0);
		NEED(b != (void *)-1 && !shmctl(id, IPC_RMID, NULL));
		begun(b);
	} else {
		b = begun(map(fd));
	}
	if (!strcmp(way, "large")) { /* and much else, which nobody stores to any more */
		void *p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		NEED(p != MAP_FAILED);
		memset(p, 1, LARGE / 100);
	}
	for (int i = 0; i < N; i++) {
		if (!strcmp(way, "passed")) {
			pass(socks[i][0], fd);
		} else if (!fork()) {
			snprintf(me, sizeof(me), "%d", i);
			if (strstr(way, "exec"))
				execl(argv[0], argv[0], way, how, path, me, (char *)NULL);
			play(b, i, how);
		}
	}
	for (int i = 0; i < N; i++) {
		NEED(wait(&status) > 0);
		bad |= status;
	}
	printf("%x %d %d\n", b->sum, b->turn, bad);
	shm_unlink(name);
	return bad != 0;
}

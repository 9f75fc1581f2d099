/* Calls that say how large a buffer would have to be, or take a size that is larger than the buffer, with the buffer at
 * the very end of what is mapped.  Prints what they say and write. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096, LSM_GET_SELF_ATTR = 459, LSM_LIST_MODULES = 461 };

static char *end;

static void say(const char *what, long rc, const uint32_t *value)
{
	printf("%s: %ld %s %u\n", what, rc, rc < 0 ? strerrorname_np(errno) : "", *value);
}

/* select(2) with a number of descriptors as large as a process may have, and sets for those that are open. */
static void sets(int readable, int closed)
{
	fd_set *set = (fd_set *)(end - sizeof(*set));
	struct timeval none = {0};
	struct timespec no_time = {0};
	for (int n = 1024; n <= 1 << 20; n *= 4) {
		FD_ZERO(set);
		FD_SET(readable, set);
		say("select", select(n, set, NULL, NULL, &none), (uint32_t *)set + readable / 32);
		FD_ZERO(set);
		FD_SET(readable, set);
		say("pselect", pselect(n, set, NULL, NULL, &no_time, NULL), (uint32_t *)set + readable / 32);
	}
	FD_SET(closed, set);
	say("closed", select(1 << 20, set, NULL, NULL, &none), (uint32_t *)set + readable / 32);
}

static void addresses(void)
{
	struct sockaddr_un from = {.sun_family = AF_UNIX, .sun_path = "\0a name that is longer than the buffer"};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(to);
	const int out = socket(AF_UNIX, SOCK_DGRAM, 0), in = socket(AF_UNIX, SOCK_DGRAM, 0);
	snprintf(from.sun_path + 1, sizeof(from.sun_path) - 1, "short-buffers-%d, longer than its buffer", getpid());
	if (bind(out, (void *)&from, sizeof(from)) || bind(in, (void *)&to, sizeof(sa_family_t)) ||
	    getsockname(in, (void *)&to, &len))
		return;
	for (int many = 0; many < 2; many++) {
		char byte;
		struct iovec part = {&byte, 1};
		struct mmsghdr m = {
			.msg_hdr = {.msg_name = end - 8, .msg_namelen = 8, .msg_iov = &part, .msg_iovlen = 1}};
		sendto(out, "x", 1, 0, (void *)&to, len);
		const long rc = many ? recvmmsg(in, &m, 1, 0, NULL) : recvmsg(in, &m.msg_hdr, 0);
		say("recvmsg", rc, &m.msg_hdr.msg_namelen);
		printf("%.4s\n", end - 5);
	}
}

static void sizes(void)
{
	uint32_t size = 1;
	say("sched_setattr", syscall(SYS_sched_setattr, 0, &size, 0), &size);
	size = 1;
	say("lsm_list_modules", syscall(LSM_LIST_MODULES, end - 1, &size, 0), &size);
	size = 1;
	say("lsm_get_self_attr", syscall(LSM_GET_SELF_ATTR, 100, end - 1, &size, 0), &size);
	size = 0;
	say("lsm_get_self_attr", syscall(LSM_GET_SELF_ATTR, 100, NULL, &size, 0), &size);
}

int main(void)
{
	int pipes[40][2];
	end = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	end += PAGE;
	munmap(end, PAGE);
	for (int i = 0; i < 40; i++)
		if (pipe(pipes[i]) || write(pipes[i][1], "x", 1) != 1)
			return 1;
	close(pipes[30][0]);
	sets(pipes[39][0], pipes[30][0]);
	addresses();
	sizes();
	return 0;
}

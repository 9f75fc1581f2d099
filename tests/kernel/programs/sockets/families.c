/* socket(2): errors for families, types and protocols; the flags of the type set O_NONBLOCK and FD_CLOEXEC. */
#include "inet.h"
#include <fcntl.h>
#include <sys/syscall.h>

static void try(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	printf("%d %d %d: %s", family, type, protocol, fd < 0 ? strerrorname_np(errno) : "ok");
	if (fd >= 0)
		printf(" flags %x cloexec %d", (unsigned)fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
	printf("\n");
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	int pair[2];

	try(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	try(AF_INET, SOCK_STREAM, IPPROTO_UDP);
	try(AF_INET, SOCK_DGRAM, IPPROTO_TCP);
	try(AF_INET, SOCK_SEQPACKET, 0);
	try(AF_INET, 77, 0);
	try(AF_INET, SOCK_STREAM | 0x10000, 0);
	try(AF_UNIX, SOCK_RAW, 0);
	try(AF_UNIX, SOCK_RDM, 0);
	try(AF_UNIX, SOCK_STREAM, 5);
	try(AF_UNIX, SOCK_STREAM, 1);
	try(200, SOCK_STREAM, 0);
	try(-1, SOCK_STREAM, 0);
	try(AF_UNSPEC, SOCK_STREAM, 0);
	try(AF_NETLINK, SOCK_STREAM, 0);
	SAY(socketpair(AF_INET, SOCK_STREAM, 0, pair));
	SAY(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	printf("%d\n", fcntl(pair[0], F_GETFD));
	SAY(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, 8));
	SAY(socketpair(AF_UNIX, 99, 0, pair));
	return 0;
}

/* Which descriptors are open, as each of several calls says, here and in the program executed under a lower limit. */
#include "calls.h"
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { LAST = 6000, LOW = 20 };

static int by_stat(int fd)
{
	struct stat st;
	return fstat(fd, &st);
}

static int by_no_name(int fd)
{
	struct stat st;
	return fstatat(fd, (const char *)8, &st, AT_EMPTY_PATH) < 0 && errno == EFAULT ? 0 : -1;
}

static int by_flags(int fd)
{
	return fcntl(fd, F_GETFD);
}

static int by_seek(int fd)
{
	return (int)lseek(fd, 0, SEEK_CUR);
}

static int by_copy(int fd)
{
	const int copy = dup(fd);
	return copy < 0 ? -1 : close(copy);
}

static int by_request(int fd)
{
	int n;
	return ioctl(fd, FIONREAD, &n);
}

static int by_read(int fd)
{
	return (int)read(fd, NULL, 0);
}

static int by_option(int fd)
{
	int type;
	socklen_t len = sizeof(type);
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
}

static void look(const char *where, const char *how, int (*ask)(int))
{
	printf("%s, %s:", where, how);
	for (int fd = 0; fd < LAST; fd++)
		if (errno = 0, ask(fd) >= 0 || errno != EBADF)
			printf(" %d", fd);
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "at first";
	look(where, "fstat", by_stat);
	look(where, "a name that is not mapped", by_no_name);
	look(where, "fcntl", by_flags);
	look(where, "lseek", by_seek);
	look(where, "dup", by_copy);
	look(where, "ioctl", by_request);
	look(where, "read", by_read);
	look(where, "getsockopt", by_option);
	if (argc > 1)
		return 0;
	struct rlimit limit;
	NEED(!getrlimit(RLIMIT_NOFILE, &limit) && dup2(0, LOW + 1) > 0 && dup2(0, LOW + 5) > 0);
	limit.rlim_cur = LOW;
	NEED(!setrlimit(RLIMIT_NOFILE, &limit) && !fflush(stdout));
	execl(argv[0], argv[0], "then", NULL);
	return 1;
}

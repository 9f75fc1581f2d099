/* Which descriptors are open, as each of several calls says, here and in the program executed under a lower limit. */
#include "calls.h"
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

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

static char text[256];
static struct iovec part = {text, 1};
static struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t room = sizeof(address);
static struct epoll_event event;
static struct itimerspec timer;

#define AT(place) (long)(place)
static const struct {
	const char *name;
	long nr, args[5];
} calls[] = {
	{"preadv", SYS_preadv, {AT(&part), 1}},
	{"preadv2", SYS_preadv2, {AT(&part), 1, 0, 0, RWF_NOWAIT}},
	{"getdents", SYS_getdents, {AT(text), sizeof(text)}},
	{"getdents64", SYS_getdents64, {AT(text), sizeof(text)}},
	{"fchdir", SYS_fchdir, {0}},
	{"fallocate", SYS_fallocate, {0, 0, 1}},
	{"fadvise64", SYS_fadvise64, {0, 0, 0}},
	{"readahead", SYS_readahead, {0, 1}},
	{"sync_file_range", SYS_sync_file_range, {0, 0, 0}},
	{"syncfs", SYS_syncfs, {0}},
	{"fgetxattr", SYS_fgetxattr, {AT("user.rdb"), AT(text), 1}},
	{"flistxattr", SYS_flistxattr, {AT(text), sizeof(text)}},
	{"fremovexattr", SYS_fremovexattr, {AT("user.rdb")}},
	{"bind", SYS_bind, {AT(&address), sizeof(address)}},
	{"connect", SYS_connect, {AT(&address), sizeof(address)}},
	{"listen", SYS_listen, {1}},
	{"accept4", SYS_accept4, {0, 0, SOCK_NONBLOCK}},
	{"shutdown", SYS_shutdown, {SHUT_RD}},
	{"getpeername", SYS_getpeername, {AT(&address), AT(&room)}},
	{"setsockopt", SYS_setsockopt, {SOL_SOCKET, SO_RCVLOWAT, AT(&room), sizeof(room)}},
	{"sendto", SYS_sendto, {AT(text), 0, MSG_DONTWAIT}},
	{"sendmsg", SYS_sendmsg, {AT(&message), MSG_DONTWAIT}},
	{"recvfrom", SYS_recvfrom, {AT(text), 1, MSG_DONTWAIT}},
	{"recvmsg", SYS_recvmsg, {AT(&message), MSG_DONTWAIT}},
	{"recvmmsg", SYS_recvmmsg, {AT(&message), 1, MSG_DONTWAIT}},
	{"epoll_ctl", SYS_epoll_ctl, {EPOLL_CTL_DEL, 0, AT(&event)}},
	{"epoll_wait", SYS_epoll_wait, {AT(&event), 1, 0}},
	{"timerfd_gettime", SYS_timerfd_gettime, {AT(&timer)}},
	{"timerfd_settime", SYS_timerfd_settime, {0, AT(&timer)}},
	{"inotify_rm_watch", SYS_inotify_rm_watch, {1}},
};
static const long *given;
static long asked;

static int by_call(int fd)
{
	return (int)syscall(asked, fd, given[0], given[1], given[2], given[3], given[4]);
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
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		asked = calls[i].nr;
		given = calls[i].args;
		look(where, calls[i].name, by_call);
	}
	if (argc > 1)
		return 0;
	struct rlimit limit;
	NEED(!getrlimit(RLIMIT_NOFILE, &limit) && dup2(0, LOW + 1) > 0 && dup2(0, LOW + 5) > 0);
	limit.rlim_cur = LOW;
	NEED(!setrlimit(RLIMIT_NOFILE, &limit) && !fflush(stdout));
	execl(argv[0], argv[0], "then", NULL);
	return 1;
}

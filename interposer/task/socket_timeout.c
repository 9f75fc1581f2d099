#include "task/socket_timeout.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "base/monotonic.h"

/* The option that bounds the call (socket(7)); 0: none. */
static int option(long nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4: return SO_RCVTIMEO;
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_connect: return SO_SNDTIMEO;
	default: return 0;
	}
}

bool socket_waits(long nr)
{
	return option(nr) != 0;
}

uint64_t socket_timeout_ns(long nr, const uint64_t args[6])
{
	struct timeval tv = {0};
	socklen_t len = sizeof(tv);
	if (!socket_waits(nr) || getsockopt((int)args[0], SOL_SOCKET, option(nr), &tv, &len))
		return 0;
	return given_ns(tv.tv_sec, tv.tv_usec * 1000);
}

static bool is_local(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);
	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX;
}

bool socket_poll(long nr, const uint64_t args[6], struct pollfd *ready)
{
	*ready = (struct pollfd){.fd = (int)args[0], .events = option(nr) == SO_RCVTIMEO ? POLLIN : POLLOUT};
	return nr != SYS_connect || !is_local(ready->fd); /* unix(7): connect waits for room at the other end */
}

long socket_late(long nr, const uint64_t args[6])
{
	return nr == SYS_connect && !is_local((int)args[0]) ? -EINPROGRESS : -EAGAIN;
}

#include "task/partial.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include "base/lower.h"
#include "task/nonblocking.h"

struct vector {
	const struct iovec *parts;
	uint64_t n;
};

static bool vector_of(long nr, const uint64_t args[6], struct vector *v)
{
	const struct msghdr *m = (const void *)args[1];
	switch (nr) {
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2: *v = (struct vector){(const void *)args[1], args[2]}; return true;
	case SYS_sendmsg:
	case SYS_recvmsg: *v = (struct vector){m->msg_iov, m->msg_iovlen}; return true;
	default: return false;
	}
}

/* /dev/zero, /dev/urandom and others give all that is asked for, unless a signal comes (drivers/char/mem.c) */
static bool memory_device(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1;
}

static bool is_stream(int fd)
{
	int type = -1;
	socklen_t len = sizeof(type);
	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM;
}

/* The kernel puts into a time-out what is left of it, and looks at it after each message (recvmmsg(2)). */
static bool time_is_over(uint64_t timeout)
{
	const struct timespec *left = (const void *)timeout;
	return left && !left->tv_sec && !left->tv_nsec;
}

/* recv(2): a datagram is all that comes */
static bool all_of_it(int fd, uint64_t flags)
{
	return (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL && is_stream(fd);
}

bool partial_gathers(long nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_recvfrom: return all_of_it((int)args[0], args[3]);
	case SYS_recvmsg: return all_of_it((int)args[0], args[2]);
	case SYS_recvmmsg: return !(args[3] & MSG_WAITFORONE);
	default: return false;
	}
}

bool partial_counts_messages(long nr)
{
	return nr == SYS_recvmmsg || nr == SYS_sendmmsg;
}

/* How many messages the call is to move. */
static uint64_t messages(long nr, const uint64_t args[6])
{
	const unsigned n = (unsigned)args[2];
	if (nr == SYS_recvmmsg)
		return !partial_gathers(nr, args) || never_blocks(nr, args) || time_is_over(args[4]) ? 0 : n;
	if (never_blocks(nr, args) || is_stream((int)args[0])) /* a stream may take a part of a message */
		return 0;
	return n < UIO_MAXIOV ? n : UIO_MAXIOV; /* net/socket.c, __sys_sendmmsg */
}

uint64_t partial_asks(long nr, const uint64_t args[6])
{
	struct vector v;
	uint64_t sum = 0;
	if (partial_counts_messages(nr))
		return messages(nr, args);
	switch (nr) {
	case SYS_getrandom: return args[1];
	case SYS_read:
	case SYS_pread64: return memory_device((int)args[0]) ? args[2] : 0;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_sendto:
	case SYS_sendmsg: break;
	case SYS_pwritev2:
		if (args[3] != ~0ul || args[5]) /* elsewhere it does not wait */
			return 0;
		break;
	case SYS_recvfrom:
	case SYS_recvmsg:
		/* no part of control data may be lost */
		if (!partial_gathers(nr, args) || (nr == SYS_recvmsg && ((const struct msghdr *)args[1])->msg_control))
			return 0;
		break;
	default: return 0;
	}
	if (never_blocks(nr, args))
		return 0;
	if (!vector_of(nr, args, &v))
		return args[2];
	for (uint64_t i = 0; i < v.n; i++)
		sum += v.parts[i].iov_len;
	return sum;
}

bool partial_by_signal(long nr, const uint64_t args[6])
{
	struct pollfd p = {.fd = (int)args[0]}; /* asks for no events: only for a closed other end, or an error */
	struct stat st;
	int at_mark = 0;
	long r;
	if (nr == SYS_getrandom || nr == SYS_read || nr == SYS_pread64)
		return true;
	if (fstat(p.fd, &st) || !(S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)))
		return false;
	do
		r = raw_syscall(SYS_poll, (long)&p, 1, 0, 0, 0, 0);
	while (r == -EINTR);
	if (r)
		return false;
	/* urgent data ends a read (tcp(7)) */
	return (nr != SYS_recvfrom && nr != SYS_recvmsg) || ioctl(p.fd, SIOCATMARK, &at_mark) || !at_mark;
}

/* Of a vector: the rest of the part that the call was in.  What follows is one more call. */
static void part_at(const struct vector *v, uint64_t done, uint64_t rest[6])
{
	uint64_t i = 0;
	for (; i + 1 < v->n && done >= v->parts[i].iov_len; i++)
		done -= v->parts[i].iov_len;
	rest[1] = (uint64_t)v->parts[i].iov_base + done;
	rest[2] = v->parts[i].iov_len - done;
}

long partial_rest(long nr, const uint64_t args[6], uint64_t done, uint64_t rest[6])
{
	struct vector v;
	memcpy(rest, args, 6 * sizeof(*rest));
	if (partial_counts_messages(nr)) {
		rest[1] += done * sizeof(struct mmsghdr);
		rest[2] -= done;
		/* recvmmsg(2), "Bugs": what ends it between two messages is an error of the next call */
		if (nr == SYS_recvmmsg)
			rest[3] |= MSG_WAITFORONE;
		return nr;
	}
	if (vector_of(nr, args, &v)) {
		part_at(&v, done, rest);
	} else if (nr == SYS_getrandom) {
		rest[0] += done;
		rest[1] -= done;
	} else {
		rest[1] += done;
		rest[2] -= done;
	}
	switch (nr) {
	case SYS_writev:
	case SYS_pwritev2: return SYS_write;
	case SYS_pread64: rest[3] += done; return nr;
	case SYS_pwrite64:
	case SYS_pwritev: rest[3] += done; return SYS_pwrite64;
	case SYS_sendmsg: /* only a stream takes a part of a message */
		rest[3] = args[2];
		rest[4] = rest[5] = 0;
		return SYS_sendto;
	case SYS_recvmsg:
		rest[3] = args[2];
		rest[4] = rest[5] = 0;
		return SYS_recvfrom;
	default: return nr;
	}
}

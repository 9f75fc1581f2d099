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
	case SYS_pwritev: *v = (struct vector){(const void *)args[1], args[2]}; return true;
	case SYS_sendmsg: *v = (struct vector){m->msg_iov, m->msg_iovlen}; return true;
	default: return false;
	}
}

/* /dev/zero, /dev/urandom and others give all that is asked for, unless a signal comes (drivers/char/mem.c) */
static bool memory_device(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 1;
}

uint64_t partial_asks(long nr, const uint64_t args[6])
{
	struct vector v;
	uint64_t sum = 0;
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
	case SYS_recvfrom:
		if ((args[3] & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL)
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
	return nr != SYS_recvfrom || ioctl(p.fd, SIOCATMARK, &at_mark) || !at_mark;
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
	case SYS_writev: return SYS_write;
	case SYS_pread64: rest[3] += done; return nr;
	case SYS_pwrite64:
	case SYS_pwritev: rest[3] += done; return SYS_pwrite64;
	case SYS_sendmsg: /* only a stream takes a part of a message */
		rest[3] = args[2];
		rest[4] = rest[5] = 0;
		return SYS_sendto;
	default: return nr;
	}
}

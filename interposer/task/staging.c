#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include "task/staging.h"
#include "base/lower.h"
#include "task/newer_calls.h"

enum { LARGEST = 16 << 20, EVENTS = 4096 };

static void part(struct staging *b, const uint64_t own[6], unsigned arg, uint64_t len)
{
	if (!own[arg] || !len)
		return;
	if (len > LARGEST)
		len = LARGEST + 1; /* so that the total is too large as well */
	b->part[b->n].arg = arg;
	b->part[b->n].upper = own[arg];
	b->part[b->n].off = b->total;
	b->part[b->n++].len = len;
	b->total += (len + 15) & ~15ul;
}

static void fd_sets(struct staging *b, uint64_t own[6])
{
	uint64_t bytes = own[0] > 1u << 20 ? 0 : (own[0] + 63) / 64 * 8;
	for (unsigned i = 1; i <= 3; i++)
		part(b, own, i, bytes);
	part(b, own, 4, sizeof(struct timeval)); /* the rest of the time-out; a timespec is as large */
}

static void parts(struct staging *b, long nr, uint64_t own[6])
{
	switch (nr) {
	case SYS_select:
	case SYS_pselect6: fd_sets(b, own); break;
	case SYS_poll:
	case SYS_ppoll:
		part(b, own, 0, own[1] * sizeof(struct pollfd));
		if (nr == SYS_ppoll)
			part(b, own, 2, sizeof(struct timespec));
		break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		if ((int)own[2] > EVENTS)
			own[2] = EVENTS; /* the call may always give fewer */
		if ((int)own[2] > 0)
			part(b, own, 1, own[2] * sizeof(struct epoll_event));
		break;
	case SYS_nanosleep: part(b, own, 1, sizeof(struct timespec)); break;
	case SYS_clock_nanosleep: part(b, own, 3, sizeof(struct timespec)); break;
	case SYS_wait4:
		part(b, own, 1, sizeof(int));
		part(b, own, 3, sizeof(struct rusage));
		break;
	case SYS_waitid:
		part(b, own, 2, sizeof(siginfo_t));
		part(b, own, 4, sizeof(struct rusage));
		break;
	case SYS_msgrcv: part(b, own, 1, own[2] + 8); break;
	case SYS_mq_timedreceive:
		part(b, own, 1, own[2]);
		part(b, own, 3, sizeof(unsigned));
		break;
	case SYS_read:
	case SYS_recvfrom: part(b, own, 1, own[2]); break;
	case SYS_sendmmsg: /* the kernel looks at no more (net/socket.c) */
		part(b, own, 1,
		     ((uint32_t)own[2] < UIO_MAXIOV ? (uint32_t)own[2] : UIO_MAXIOV) * sizeof(struct mmsghdr));
		break;
	case SYS_sendfile: part(b, own, 2, sizeof(uint64_t)); break;
	case SYS_splice:
		part(b, own, 1, sizeof(uint64_t));
		part(b, own, 3, sizeof(uint64_t));
		break;
	}
}

static bool room(struct staging *b)
{
	b->before = b->small;
	if (b->total > STAGING_SMALL) {
		b->mapped = (2 * b->total + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
		b->before = mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (b->before == MAP_FAILED) {
			b->mapped = 0;
			return false;
		}
	}
	b->now = b->before + b->total;
	return true;
}

/* Copies by the kernel, which returns EFAULT where we would fault. */
static bool move(bool in, char *own, uint64_t upper, size_t len)
{
	const struct iovec mine = {own, len}, theirs = {(void *)upper, len};
	long r = raw_syscall(in ? SYS_process_vm_readv : SYS_process_vm_writev, lower.pid, (long)&mine, 1,
			     (long)&theirs, 1, 0);
	return r == (long)len;
}

void staging_drop(struct staging *b)
{
	if (b->mapped)
		munmap(b->before, b->mapped);
	b->n = 0;
}

void staging_in(struct staging *b, long nr, const uint64_t args[6], uint64_t own[6])
{
	b->n = 0;
	b->total = b->mapped = 0;
	memcpy(own, args, 6 * sizeof(*own));
	parts(b, nr, own);
	if (!b->n)
		return;
	bool fine = b->total <= LARGEST && room(b);
	for (unsigned i = 0; i < b->n && fine; i++)
		fine = move(true, b->before + b->part[i].off, b->part[i].upper, b->part[i].len);
	if (!fine) {
		staging_drop(b); /* the call itself says what is wrong */
		return;
	}
	memcpy(b->now, b->before, b->total);
	for (unsigned i = 0; i < b->n; i++)
		own[b->part[i].arg] = (uint64_t)b->now + b->part[i].off;
}

void staging_out(struct staging *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		const char *before = b->before + b->part[i].off;
		char *now = b->now + b->part[i].off;
		size_t first = 0, last = b->part[i].len;
		while (first < last && before[first] == now[first])
			first++;
		while (last > first && before[last - 1] == now[last - 1])
			last--;
		if (last > first)
			move(false, now + first, b->part[i].upper + first, last - first);
	}
	staging_drop(b);
}

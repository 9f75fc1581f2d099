#include "task/blocking.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "base/monotonic.h"
#include "base/user.h"
#include "space/floors.h"
#include "task/baton.h"
#include "task/envoy.h"
#include "task/message_staging.h"
#include "task/staging.h"
#include "task/newer_calls.h"
#include "task/nonblocking.h"
#include "task/partial.h"
#include "task/pi_futex.h"
#include "task/socket_timeout.h"
#include "task/signals.h"
#include "task/thread.h"
#include "task/unwaiting.h"

enum waiting {
	NEVER,    /* does not wait, or so seldom that the reminder is good enough */
	ALWAYS,   /* waits, as far as is known */
	READABLE, /* until its descriptor, the first argument, is readable */
	WRITABLE,
	EVENTS, /* poll, epoll: depends on the time-out */
};

static bool regular(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode));
}

static bool reads(int fd)
{
	return (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDONLY;
}

static bool fifo(int at, const char *path)
{
	struct stat st;
	return path && fstatat(at, path, &st, 0) == 0 && S_ISFIFO(st.st_mode);
}

static enum waiting waits(long nr, const uint64_t a[6])
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4: return READABLE;
	case SYS_preadv2: return a[3] == ~0ul ? READABLE : NEVER; /* with a position, of a file that has some */
	case SYS_pwritev2: return a[3] == ~0ul && !regular((int)a[0]) ? WRITABLE : NEVER;
	case SYS_vmsplice: return reads((int)a[0]) ? READABLE : WRITABLE;
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg: return regular((int)a[0]) ? NEVER : WRITABLE;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: return EVENTS;
	case SYS_fcntl: return a[1] == F_SETLKW || a[1] == F_OFD_SETLKW ? ALWAYS : NEVER;
	case SYS_open: return fifo(AT_FDCWD, (const char *)a[0]) ? ALWAYS : NEVER;
	case SYS_openat: return fifo((int)a[0], (const char *)a[1]) ? ALWAYS : NEVER;
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee: return regular((int)a[0]) && regular((int)a[nr == SYS_splice ? 2 : 1]) ? NEVER : ALWAYS;
	case SYS_sched_yield:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
	case SYS_connect:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_mq_timedsend:
	case SYS_mq_timedreceive: return ALWAYS;
	default: return NEVER;
	}
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	long r;
	do /* even without a timeout a reminder interrupts it */
		r = raw_syscall(SYS_poll, (long)&p, 1, 0, 0, 0, 0);
	while (r == -EINTR);
	return r != 0;
}

/* Makes the call with the baton handed on. */
static long released(long shown, long nr, const uint64_t args[6])
{
	struct staging staging;
	uint64_t own[6];
	staging_in(&staging, shown == nr ? nr : -1, args, own);
	bool given = baton_block_begin();
	long r = signals_syscall_as(shown, nr, own);
	baton_block_end(given);
	staging_out(&staging);
	return r;
}

/* What is left of its socket's time-out; false: it has none. */
static bool socket_rest(long nr, const uint64_t args[6], uint64_t begun_ns, struct timespec *rest)
{
	const uint64_t limit = socket_timeout_ns(nr, args), waited = monotonic_ns() - begun_ns;
	const uint64_t ns = waited < limit ? limit - waited : 0;
	*rest = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	return limit;
}

/* The wait is for readiness and writes nothing to upper memory, which other threads may be looking at; the
 * call itself is made with the baton. */
static long when_readable(long nr, const uint64_t args[6])
{
	const int fd = (int)args[0];
	const struct event *ev = event_current();
	const uint64_t begun_ns = monotonic_ns() - (ev ? ev->waited_ns : 0);
	while (!is_ready(fd, POLLIN | POLLPRI) && !never_blocks(nr, args)) {
		struct pollfd p = {.fd = fd, .events = POLLIN | POLLPRI};
		struct timespec rest;
		const uint64_t wait[6] = {(uint64_t)&p, 1,
					  socket_rest(nr, args, begun_ns, &rest) ? (uint64_t)&rest : 0};
		long r = released(nr, SYS_ppoll, wait);
		if (r < 0)
			return r;
		if (r == 0)
			return socket_late(nr, args);
	}
	return signals_syscall(nr, args);
}

/* The call may wait in the middle, with a part of its answer in memory. */
static long gathered(long nr, const uint64_t args[6])
{
	struct message_staging staging;
	uint64_t own[6];
	if (never_blocks(nr, args) || message_staging_in(&staging, nr, args, own))
		return when_readable(nr, args);
	const bool given = baton_block_begin();
	const long r = signals_syscall(nr, own);
	baton_block_end(given);
	return message_staging_out(&staging, own, r);
}

/* POLLOUT promises PIPE_BUF bytes; more than that may wait in the middle */
static bool small_write(long nr, const uint64_t args[6])
{
	return (nr == SYS_write || nr == SYS_sendto) && args[2] <= 4096;
}

static long when_writable(long nr, const uint64_t args[6])
{
	if (small_write(nr, args) && is_ready((int)args[0], POLLOUT))
		return signals_syscall(nr, args);
	return released(nr, nr, args);
}

/* Makes the call without waiting first: then no other thread need run.  A poll in vain writes, too; the program sees
 * that with the answer, since others run before it. */
static long for_events(long nr, const uint64_t args[6])
{
	struct staging staging;
	uint64_t now[6], own[6];
	memcpy(now, args, sizeof(now));
	unwaiting_poll(nr, now);
	staging_in(&staging, nr, now, own);
	long r = raw_syscall(nr, (long)own[0], (long)own[1], (long)own[2], (long)own[3], (long)own[4], (long)own[5]);
	if (r && r != -EINTR) {
		staging_out(&staging);
		return r;
	}
	/* -EINTR: a reminder, which is not the program's, or a signal that released() finds */
	staging_drop(&staging);
	return released(nr, nr, args);
}

/* The signal that the call sends; 0: none. */
static int sends(long nr, const uint64_t a[6])
{
	switch (nr) {
	case SYS_kill:
	case SYS_tkill:
	case SYS_rt_sigqueueinfo: return (int)a[1];
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo: return (int)a[2];
	default: return 0;
	}
}

/* Sends a signal that stops a process, by default.  One that is stopped is not to keep those waiting that share memory
 * with it.  Another process has no floor while we have it, but it may get it until the signal is seen there. */
static long stopping(long nr, const uint64_t args[6])
{
	const int to = (int)args[0];
	const bool ours = to == lower.pid || (nr == SYS_kill && (to >= -1 ? to <= 0 : getpgid(0) == -to)) ||
			  (nr == SYS_tkill && !raw_syscall(SYS_tgkill, lower.pid, to, 0, 0, 0, 0));
	if (ours)
		envoy_lend();
	const long r = signals_syscall(nr, args);
	if (ours)
		envoy_return();
	else if (r == 0)
		floors_await_stop(to); /* perhaps in vain: it may handle what is not SIGSTOP */
	return r;
}

/* Some namespaces are only for a process with one thread. */
static long alone(long nr, const uint64_t args[6])
{
	envoy_rest();
	const long r = signals_syscall(nr, args);
	envoy_back();
	return r;
}

static long carried_out(long nr, const uint64_t args[6])
{
	if (lower.shares && threads_alive() == 1 && (nr == SYS_unshare || nr == SYS_setns))
		return alone(nr, args);
	const int sig = sends(nr, args);
	if (lower.shares && recording() && (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU))
		return stopping(nr, args);
	if (!recording() || !threads_compete())
		return signals_syscall(nr, args);
	switch (waits(nr, args)) {
	case ALWAYS: return released(nr, nr, args);
	case READABLE: return partial_gathers(nr, args) ? gathered(nr, args) : when_readable(nr, args);
	case WRITABLE: return when_writable(nr, args);
	case EVENTS: return for_events(nr, args);
	default: return signals_syscall(nr, args);
	}
}

/* Would the call be answered without a wait? */
static bool answers_at_once(long nr, const uint64_t args[6])
{
	switch (waits(nr, args)) {
	case NEVER: return true;
	case READABLE: return is_ready((int)args[0], POLLIN | POLLPRI) || never_blocks(nr, args);
	case WRITABLE: return (small_write(nr, args) && is_ready((int)args[0], POLLOUT)) || never_blocks(nr, args);
	default: return false;
	}
}

/* The call can be made once the handler has run.  An EINTR would do harm: much would be written, or the program would
 * wait for a connection that nobody makes (connect(2)). */
static bool better_later(long nr, const uint64_t args[6])
{
	return nr == SYS_connect || (waits(nr, args) == WRITABLE && is_ready((int)args[0], POLLOUT));
}

/* A signal that the program hears at this call came before it.  Only a call that waits is interrupted, one for a file's
 * attributes is not (signal(7)).  The handler runs after the call. */
static long not_interrupted(long nr, const uint64_t args[6])
{
	struct unwaiting u;
	struct staging staging;
	uint64_t own[6];
	const uint64_t *a = args;
	if (answers_at_once(nr, args))
		return raw_syscall(nr, (long)a[0], (long)a[1], (long)a[2], (long)a[3], (long)a[4], (long)a[5]);
	if (better_later(nr, args))
		return SIGNALS_RESTART;
	if (!unwaiting(nr, args, &u))
		return -EINTR;
	staging_in(&staging, u.nr, u.args, own); /* where it would wait, the program's memory stays */
	a = own;
	long r = raw_syscall(u.nr, (long)a[0], (long)a[1], (long)a[2], (long)a[3], (long)a[4], (long)a[5]);
	if (r == u.would_wait || r == -EINTR) {
		staging_drop(&staging);
		return -EINTR;
	}
	staging_out(&staging);
	return r;
}

long blocking_syscall(long nr, const uint64_t args[6])
{
	long r = carried_out(nr, args);
	return r == -EINTR && thread_self()->unmade ? not_interrupted(nr, args) : r;
}

/* The kernel's answer to a wait that ends at once; -ETIMEDOUT: it would wait. */
static long no_wait(const uint64_t *a, int op)
{
	const struct timespec none = {0}; /* absolute: long past */
	struct timespec limit;
	if (a[3] && (user_read(&limit, a[3], sizeof(limit)) || limit.tv_sec < 0 || limit.tv_nsec < 0 ||
		     limit.tv_nsec >= 1000000000))
		return raw_syscall(SYS_futex, (long)a[0], (long)a[1], (long)a[2], (long)a[3], 0, (long)a[5]);
	return raw_syscall(SYS_futex, (long)a[0], (long)a[1], (long)a[2], (long)&none, 0,
			   op == FUTEX_WAIT ? 0 : (long)a[5]);
}

long blocking_futex(struct event *ev, const uint64_t a[6])
{
	int op = (int)a[1] & FUTEX_CMD_MASK;
	struct thread *self = thread_self();
	uint32_t word;
	bool given = false;
	long r;
	if (pi_futex_requeues(op))
		return -ENOSYS;
	if (pi_futex(ev))
		return pi_futex_call(ev, a);
	switch (op) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		if ((op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && a[0] % 4 == 0 &&
		    !user_read(&word, a[0], sizeof(word)) &&
		    __atomic_load_n((uint32_t *)a[0], __ATOMIC_SEQ_CST) != (uint32_t)a[2]) {
			r = no_wait(a, op);
			if (r != -ETIMEDOUT)
				return r;
		}
		/* the thread has only waited since it was woken there, for the same value: a barrier's word is another
		 * each time */
		if (self->waits_at == a[0] && self->waits_with == (uint32_t)a[2] &&
		    self->asked == self->waits_asked + 1)
			self->missed_at = a[0];
		self->waits_at = a[0];
		self->waits_with = (uint32_t)a[2];
		self->waits_asked = self->asked;
		given = baton_block_begin();
		r = signals_syscall(SYS_futex, a);
		baton_block_end(given);
		break;
	default:
		r = blocking_syscall(SYS_futex, a);
		if (r > 0 && (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET))
			baton_hand_on(a[0]);
	}
	/* the kernel writes to the futex itself, also where it does not know the comparison (futex_atomic_op_inuser) */
	if ((r >= 0 || r == -ENOSYS) && op == FUTEX_WAKE_OP && user_writable(a[4], sizeof(word)))
		event_out(ev, (void *)a[4], sizeof(word));
	return r;
}

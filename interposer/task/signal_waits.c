/* System calls that wait until a signal comes. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <string.h>
#include "crossing/arrivals.h"
#include "base/monotonic.h"
#include "base/pids.h"
#include "base/guarded_copy.h"
#include "base/user.h"
#include "task/baton.h"
#include "task/newer_calls.h"
#include "task/partial.h"
#include "task/queued_to.h"
#include "task/socket_timeout.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"
#include "task/waited.h"

/* The call was not made, since */
enum {
	SIGNALS_HALT = -513,   /* all threads are to stand still */
	SIGNALS_UNMADE = -514, /* a signal came first */
};

/* gate.S: the call, unless a signal is pending that the program has not blocked.  Between the two labels
 * nothing has happened yet: a signal that arrives there makes it SIGNALS_UNMADE. */
long interruptible_syscall(long nr, const uint64_t args[6], const volatile uint64_t *pending, uint64_t mask);

/* signal(7): calls that are never restarted.  What the program asked for may be another call than that of args. */
static bool restartable(long nr, const uint64_t args[6])
{
	const struct event *ev = event_current();
	if (ev && ev->nr == nr && socket_timeout_ns(nr, ev->args))
		return false;
	switch (nr) {
	case SYS_futex: return !args[3]; /* kernel/futex/waitwake.c, futex_wait: not with a time-out */
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_pause:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv: return false;
	default: return true;
	}
}

/* The call may be the program's last: then no event follows that could take what arrives during it. */
static bool may_kill(long nr)
{
	return nr == SYS_kill || nr == SYS_tkill || nr == SYS_tgkill || nr == SYS_rt_sigqueueinfo ||
	       nr == SYS_rt_tgsigqueueinfo || nr == SYS_pidfd_send_signal;
}

/* Before a call that waits, which was not made: the program's threads are to stand still. */
static void stand_still(void)
{
	if (!lower.mode->hold || !lower.mode->hold(NULL, NULL, NULL))
		sched_yield();
}

/* A call that is made again and again until it is answered. */
struct making {
	long nr;
	const uint64_t *args;
	uint64_t begun_ns;    /* 0: it has no time-out */
	bool over;            /* its socket's time-out is over: the call is made for the last time */
	struct timespec left; /* what is left of the call's own time-out */
	struct pollfd ready;  /* polled before the call is made again */
	long now;             /* number of what the kernel sees: the call, or a poll for its socket */
	uint64_t own[6];
};

/* When the call began; 0: it has no time-out that depends on that.  Checkpoints without a log may interrupt it.  A
 * time-out whose rest the program is told stands in its memory as it was given, also where a restart makes the call
 * again. */
static uint64_t begins(struct thread *self, long nr, const uint64_t args[6])
{
	const struct event *ev = event_current();
	const bool ends = waited_ends(nr, args), socket = socket_waits(nr);
	self->asked_ns = self->socket_begun_ns = 0;
	if (replaying() || !(ends || socket))
		return 0;
	const uint64_t now = monotonic_ns(), waited = ev && ev->nr == nr ? ev->waited_ns : 0;
	if (coordinating())
		*(ends ? &self->asked_ns : &self->socket_begun_ns) = now - waited;
	return socket || waited_told(nr) ? now - waited : now;
}

/* Asked only where it matters: the kernel has to be asked. */
void signals_hold(struct thread *self)
{
	const struct event *ev = event_current();
	if (self->socket_begun_ns && ev && socket_timeout_ns(ev->nr, ev->args))
		self->asked_ns = self->socket_begun_ns;
}

/* The kernel would begin the socket's time-out anew.  So before the call is made again a poll waits for what is left of
 * it.  True: it was over before the call was made the last time. */
static bool poll_first(struct making *m)
{
	const uint64_t limit = m->begun_ns ? socket_timeout_ns(m->nr, m->args) : 0;
	const uint64_t waited = limit ? monotonic_ns() - m->begun_ns : 0, rest = waited < limit ? limit - waited : 0;
	if (!limit || m->over)
		return limit;
	m->over = !rest;
	if (!socket_poll(m->nr, m->args, &m->ready))
		return m->over;
	m->left = (struct timespec){(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};
	m->now = SYS_ppoll;
	memset(m->own, 0, sizeof(m->own));
	m->own[0] = (uint64_t)&m->ready;
	m->own[1] = 1;
	m->own[2] = (uint64_t)&m->left;
	return false;
}

/* The call as the kernel is to see it from now on.  The kernel would write the rest of the time at each interruption;
 * the program is told at an interruption of its own, or at the end. */
static void from_now(struct making *m, bool again)
{
	const unsigned rest = waited_rest(m->nr, m->args);
	m->now = m->nr;
	memcpy(m->own, m->args, sizeof(m->own));
	if (rest)
		m->own[rest] = 0;
	if (m->begun_ns && (again || waited_told(m->nr)))
		waited_since(m->nr, m->own, monotonic_ns() - m->begun_ns, &m->left);
}

/* fs/select.c, poll_select_finish; net/socket.c, __sys_recvmmsg */
static void tell_what_is_left(const struct making *m, long r)
{
	const unsigned at = waited_told(m->nr);
	const bool told = m->nr == SYS_recvmmsg ? r > 0 : r != -EINVAL && r != -EFAULT;
	if (at && told && m->own[at] == (uint64_t)&m->left)
		guarded_copy((void *)m->args[at], &m->left, sizeof(m->left));
}

/* The answer to a call that the program's signal has ended. */
static long interrupted(long nr, const uint64_t args[6], const struct timespec *left)
{
	const unsigned rest = waited_rest(nr, args);
	const bool told = !rest || left->tv_nsec < 0 ||
			  guarded_copy((void *)args[rest], left, sizeof(*left)) == sizeof(*left);
	return told ? -EINTR : -EFAULT;
}

static long made(long shown, long nr, const uint64_t args[6], uint64_t *begun_ns)
{
	struct thread *self = thread_self();
	/* close(2): a program does not try that again after EINTR, so it is made whatever has come */
	const bool closing = nr == SYS_close;
	const struct event *ev = event_current();
	const bool again = *begun_ns || (ev && ev->nr == nr && ev->waited_ns);
	struct making m = {.nr = nr, .args = args, .left = {.tv_nsec = -1}};
	uint64_t due = 0;
	bool given = false;
	long r;
	*begun_ns = m.begun_ns = *begun_ns ? *begun_ns : begins(self, nr, args);
	from_now(&m, false);
	bool late = again && poll_first(&m);
	for (;;) {
		if (late) {
			r = socket_late(nr, args);
			break;
		}
		signal_claim(self);
		if (!may_kill(nr))
			arrivals_still_begin();
		self->interrupted = false;
		r = interruptible_syscall(m.now, m.own, &self->pending, closing ? ~0ul : self->upper.sigmask);
		arrivals_still_end();
		if (m.now != nr && r >= 0) { /* the socket is ready, or the time is over */
			late = r == 0;
			from_now(&m, false);
			continue;
		}
		if (r == SIGNALS_HALT) {
			signals_hold(self);
			stand_still();
		} else if (r != SIGNALS_UNMADE && (r != -EINTR || closing)) {
			break;
		}
		if (closing)
			continue;
		from_now(&m, true);
		due = signal_due(self);
		if (due)
			break;
		late = poll_first(&m);
		/* No signal that the program would have seen: it waits, and others wait for the baton.  A reminder may
		 * also come late, when another thread already has the baton. */
		if (self->yield && baton_held())
			given = baton_block_begin();
		self->yield = false;
	}
	baton_block_end(given);
	tell_what_is_left(&m, r);
	self->unmade = due && (r == SIGNALS_UNMADE || r == SIGNALS_HALT);
	if (!due)
		return r;
	int sig = __builtin_ctzl(due) + 1;
	bool restart = lower.upper.sigactions[sig].flags & SA_RESTART && restartable(shown, args);
	return restart ? SIGNALS_RESTART : interrupted(nr, args, &m.left);
}

/* What the call has moved so far is kept in the thread, for a checkpoint at that point. */
long signals_syscall_as(long shown, long nr, const uint64_t args[6])
{
	struct thread *self = thread_self();
	const struct event *ev = event_current();
	uint64_t rest[6], done = ev && ev->kind == LOG_SYSCALL && ev->nr == nr && shown == nr ? ev->done : 0;
	uint64_t begun_ns = 0;
	long r;
	for (;;) {
		const bool other = done || nr == SYS_recvmmsg;
		const long now = other ? partial_rest(nr, args, done, rest) : nr;
		self->asked_done = done;
		r = made(done ? now : shown, now, other ? rest : args, &begun_ns);
		if (r <= 0)
			break;
		const bool part = done && (uint64_t)r == rest[2]; /* a part of a vector, of which more may follow */
		done += (uint64_t)r;
		if (shown != nr || signal_due(self) || done >= partial_asks(nr, args) ||
		    !(self->interrupted || part || partial_by_signal(nr, args)))
			break;
		if (partial_counts_messages(nr) && !waited_ends(nr, args))
			begun_ns = 0; /* a socket's time-out begins anew with each message */
		if (lower.checkpoint_waits) {
			self->asked_done = done;
			stand_still();
		}
	}
	self->asked_done = 0;
	return done ? (long)done : r;
}

long signals_syscall(long nr, const uint64_t args[6])
{
	return signals_syscall_as(nr, nr, args);
}

/* sigwaitinfo(2) */
long signals_timedwait(uint64_t set, uint64_t info, uint64_t timeout, size_t size)
{
	struct thread *self = thread_self();
	struct timespec left = {0}, longest;
	uint64_t wanted;
	siginfo_t got;
	int sig;
	if (size != 8)
		return -EINVAL;
	if (user_read(&wanted, set, sizeof(wanted)) || (timeout && user_read(&longest, timeout, sizeof(longest))))
		return -EFAULT;
	if (timeout && (longest.tv_sec < 0 || longest.tv_nsec < 0 || longest.tv_nsec >= 1000000000))
		return -EINVAL;
	wanted &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
	const uint64_t shown[6] = {0, 0, timeout};
	begins(self, SYS_rt_sigtimedwait, shown);
	signals_hear(wanted);
	signals_sync_kernel(self);
	const uint64_t limit_ns = timeout ? given_ns(longest.tv_sec, longest.tv_nsec) : 0, begun_ns = monotonic_ns();
	bool given = false, by_kernel = false;
	long r = 0;
	while (!r) {
		const uint64_t kept = signal_first(wanted);
		/* a lower number comes first, wherever it waits */
		uint64_t in_kernel = wanted & signals_wait_in_kernel() & (kept - 1);
		if (in_kernel)
			r = raw_syscall(SYS_rt_sigtimedwait, (long)&in_kernel, (long)&got, (long)&left, 8, 0, 0);
		by_kernel = in_kernel && r > 0;
		if (by_kernel)
			break;
		r = 0;
		if (signal_take(wanted, &got, &sig)) {
			r = sig;
			break;
		}
		struct timespec rest;
		if (timeout) {
			const uint64_t waited_ns = monotonic_ns() - begun_ns, ns = limit_ns - waited_ns;
			if (waited_ns >= limit_ns) {
				r = -EAGAIN;
				break;
			}
			rest = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
		}
		if (!given)
			given = baton_block_begin();
		const uint64_t limit = timeout ? (uint64_t)&rest : 0, here[6] = {0, 0, limit},
			       there[6] = {(uint64_t)&in_kernel, (uint64_t)&got, limit, 8};
		self->awaited = wanted;
		signal_claim(self);
		arrivals_still_begin();
		long slept = interruptible_syscall(in_kernel ? SYS_rt_sigtimedwait : SYS_ppoll,
						   in_kernel ? there : here, &self->pending,
						   self->upper.sigmask & ~wanted);
		arrivals_still_end();
		if (slept == SIGNALS_HALT)
			stand_still();
		self->awaited = 0;
		by_kernel = in_kernel && slept > 0;
		if (by_kernel)
			r = slept;
		else if (signal_due(self) & ~wanted)
			r = -EINTR;
	}
	baton_block_end(given);
	if (by_kernel)
		pids_signal(&got);
	if (r > 0)
		queued_to_unmark(&got);
	return r > 0 && info && user_write(info, &got, sizeof(got)) ? -EFAULT : r;
}

void signals_suspend(uint64_t mask)
{
	struct thread *self = thread_self();
	struct upper_thread *u = &self->upper;
	if (!u->suspended)
		u->suspended_mask = u->sigmask;
	u->suspended = 1;
	u->sigmask = mask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
	signals_sync_kernel(self);
}

void signals_resume(void)
{
	struct thread *self = thread_self();
	if (self->upper.suspended)
		self->upper.sigmask = self->upper.suspended_mask;
	self->upper.suspended = 0;
	signals_sync_kernel(self);
}

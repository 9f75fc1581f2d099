#include "task/pi_futex.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/guarded_copy.h"
#include "base/pids.h"
#include "base/user.h"
#include "task/signals.h"
#include "task/baton.h"
#include "task/thread.h"

static bool set(uint32_t *word, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint32_t look(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/* `waited`: other threads may wait, and were not woken. */
static bool acquire(uint32_t *word, bool waited)
{
	uint32_t v = look(word), keep = v & ~(uint32_t)FUTEX_TID_MASK;
	if (v & FUTEX_TID_MASK)
		return false;
	return set(word, v, (uint32_t)thread_self()->upper.tid | keep | (waited ? FUTEX_WAITERS : 0));
}

/* The owner may be another process, and nobody wakes at its end: its robust list says that the kernel has waiters for
 * this lock.  So a wait for it ends now and then.  True: before the time-out of the program. */
static bool look_again(bool real, const uint64_t *a, struct timespec *until)
{
	enum { LOOK_NS = 20000000, SECOND = 1000000000 };
	struct timespec limit;
	if ((int)a[1] & FUTEX_PRIVATE_FLAG)
		return false;
	raw_syscall(SYS_clock_gettime, real ? CLOCK_REALTIME : CLOCK_MONOTONIC, (long)until, 0, 0, 0, 0);
	until->tv_nsec += LOOK_NS;
	until->tv_sec += until->tv_nsec / SECOND;
	until->tv_nsec %= SECOND;
	return !a[3] || guarded_copy(&limit, (const void *)a[3], sizeof(limit)) < sizeof(limit) ||
	       limit.tv_sec > until->tv_sec || (limit.tv_sec == until->tv_sec && limit.tv_nsec > until->tv_nsec);
}

static long wait_for(uint32_t *word, uint32_t v, const uint64_t *a)
{
	const int op = (int)a[1] & FUTEX_CMD_MASK, flags = (int)a[1] & FUTEX_PRIVATE_FLAG;
	/* the time-out is absolute; FUTEX_LOCK_PI has it by the real-time clock */
	const bool real = op == FUTEX_LOCK_PI || ((int)a[1] & FUTEX_CLOCK_REALTIME);
	struct timespec until;
	const bool again = look_again(real, a, &until);
	const uint64_t wait[6] = {(uint64_t)word,
				  (uint64_t)(FUTEX_WAIT_BITSET | flags | (real ? FUTEX_CLOCK_REALTIME : 0)),
				  v,
				  again ? (uint64_t)&until : a[3],
				  0,
				  FUTEX_BITSET_MATCH_ANY};
	bool given = baton_block_begin();
	long r = signals_syscall(SYS_futex, wait);
	baton_block_end(given);
	return r == -EAGAIN || (again && r == -ETIMEDOUT) ? 0 : r;
}

/* Why there is no waiting for the owner; 0: there is. */
static long no_owner(uint32_t v)
{
	const uint32_t tid = v & FUTEX_TID_MASK;
	if (thread_self()->upper.tid == (int32_t)tid)
		return -EDEADLK;
	return tid && raw_syscall(SYS_kill, (long)threads_number_now(tid), 0, 0, 0, 0, 0) == -ESRCH ? -ESRCH : 0;
}

static long try_lock(uint32_t *word)
{
	if (acquire(word, false))
		return 0;
	const long why = no_owner(look(word));
	return why ? why : -EAGAIN;
}

static long lock(uint32_t *word, const uint64_t *a)
{
	const uint32_t own = (uint32_t)thread_self()->upper.tid;
	bool waited = false;
	for (long r = 0; !r;) {
		if (acquire(word, waited))
			return 0;
		uint32_t v = look(word);
		const long why = no_owner(v);
		/* kernel/futex/pi.c, fixup_pi_state_owner: it ended while this thread waited */
		if (why == -ESRCH && waited && set(word, v, own | FUTEX_OWNER_DIED | FUTEX_WAITERS))
			return 0;
		if (why)
			return why;
		if (!(v & FUTEX_TID_MASK))
			continue;
		if (!(v & FUTEX_WAITERS)) { /* an event of its own: others see it while we wait */
			if (set(word, v, v | FUTEX_WAITERS))
				return SIGNALS_RESTART;
			continue;
		}
		r = wait_for(word, v, a);
		waited = true;
		if (r)
			return r == -EINTR ? SIGNALS_RESTART : r; /* whatever the handler's flags: kernel/futex/pi.c */
	}
	return 0;
}

static long unlock(uint32_t *word, const uint64_t *a)
{
	uint32_t v = look(word);
	if (thread_self()->upper.tid != (int32_t)(v & FUTEX_TID_MASK))
		return -EPERM;
	while (!set(word, v, 0))
		v = look(word);
	/* the woken thread waits again, and says so in the word, if another is faster */
	const long op = FUTEX_WAKE | ((long)a[1] & FUTEX_PRIVATE_FLAG);
	long r = v & FUTEX_WAITERS ? raw_syscall(SYS_futex, (long)word, op, 1, 0, 0, 0) : 0;
	return r < 0 ? r : 0;
}

static bool here(void)
{
	return recording() || pids();
}

bool pi_futex_requeues(int op)
{
	return here() && (op == FUTEX_WAIT_REQUEUE_PI || op == FUTEX_CMP_REQUEUE_PI);
}

bool pi_futex(const struct event *ev)
{
	const int op = (int)ev->args[1] & FUTEX_CMD_MASK;
	const bool one = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 || op == FUTEX_TRYLOCK_PI || op == FUTEX_UNLOCK_PI;
	return one && here() && ev->args[0] % 4 == 0 && user_writable(ev->args[0], sizeof(uint32_t));
}

long pi_futex_call(struct event *ev, const uint64_t a[6])
{
	uint32_t *word = (uint32_t *)a[0];
	const int op = (int)a[1] & FUTEX_CMD_MASK;
	struct timespec limit;
	long r;
	if (op != FUTEX_UNLOCK_PI && op != FUTEX_TRYLOCK_PI && a[3]) { /* kernel/futex/syscalls.c: before all else */
		if (user_read(&limit, ev->args[3], sizeof(limit)))
			return -EFAULT;
		if (limit.tv_sec < 0 || limit.tv_nsec < 0 || limit.tv_nsec >= 1000000000)
			return -EINVAL;
	}
	if (a[1] & FUTEX_CLOCK_REALTIME && op != FUTEX_LOCK_PI2)
		return -ENOSYS;
	switch (op) {
	case FUTEX_UNLOCK_PI: r = unlock(word, a); break;
	case FUTEX_TRYLOCK_PI: r = try_lock(word); break;
	default: r = lock(word, a);
	}
	event_out(ev, word, sizeof(*word));
	return r;
}

#include "task/signal_queue.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include "base/user.h"
#include "task/signal_frame.h"
#include "task/signals.h"

enum { FIRST_REAL_TIME = 32, QUEUE = 256, TIMERS = 256, FREE = 0, TAKEN = 1, FULL = 2 };

/* More of a real-time signal that is pending already. */
struct queued {
	uint32_t state;
	int sig;
	struct thread *to;
	uint64_t order;
	siginfo_t info;
};

/* What arrived for the process while all threads blocked it. */
static struct {
	volatile uint64_t pending;
	siginfo_t info[65];
	struct queued more[QUEUE];
	uint64_t order;
} held;

static void put(int sig, const siginfo_t *info, struct thread *t)
{
	if (t)
		t->info[sig] = *info;
	else
		held.info[sig] = *info;
	__atomic_or_fetch(t ? &t->pending : &held.pending, BIT(sig), __ATOMIC_SEQ_CST);
}

static bool same_timer(const siginfo_t *a, const siginfo_t *b)
{
	return a->si_code == SI_TIMER && b->si_code == SI_TIMER && a->si_timerid == b->si_timerid;
}

static bool overruns(int sig, const siginfo_t *info, struct thread *t)
{
	siginfo_t *waits = (t ? t->pending : held.pending) & BIT(sig) ? (t ? &t->info[sig] : &held.info[sig]) : NULL;
	for (struct queued *q = held.more; q < held.more + QUEUE && !(waits && same_timer(waits, info)); q++)
		if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig && q->to == t)
			waits = &q->info;
	if (!waits || !same_timer(waits, info))
		return false;
	__atomic_add_fetch(&waits->si_overrun, 1 + info->si_overrun, __ATOMIC_RELAXED);
	return true;
}

static struct {
	struct {
		int id, overrun; /* of the signal that was taken last */
	} list[TIMERS];
	unsigned n; /* TIMERS: there may be others */
} timers;

static void timer_taken(const siginfo_t *info)
{
	unsigned i = 0;
	while (i < timers.n && timers.list[i].id != info->si_timerid)
		i++;
	if (i == TIMERS)
		return;
	timers.list[i].id = info->si_timerid;
	timers.list[i].overrun = info->si_overrun;
	if (i == timers.n)
		timers.n++;
}

void signal_timer_call(struct event *ev)
{
	if (ev->result < 0 || (ev->nr != SYS_timer_create && ev->nr != SYS_timer_getoverrun))
		return;
	const bool made = ev->nr == SYS_timer_create;
	int id = (int)ev->args[0];
	if (made && user_read(&id, ev->args[2], sizeof(id)))
		return;
	for (unsigned i = 0; i < timers.n; i++)
		if (timers.list[i].id == id) {
			if (made)
				timers.list[i].overrun = 0;
			else
				ev->result = timers.list[i].overrun;
			return;
		}
	if (!made && timers.n < TIMERS)
		ev->result = 0;
}

void signal_keep(int sig, const siginfo_t *info, struct thread *t)
{
	if (info->si_code == SI_TIMER && overruns(sig, info, t))
		return;
	if (sig < FIRST_REAL_TIME || !((t ? t->pending : held.pending) & BIT(sig))) {
		put(sig, info, t);
		return;
	}
	for (struct queued *q = held.more; q < held.more + QUEUE; q++) {
		uint32_t expected = FREE;
		if (!__atomic_compare_exchange_n(&q->state, &expected, TAKEN, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		q->sig = sig;
		q->to = t;
		q->info = *info;
		q->order = __atomic_add_fetch(&held.order, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&q->state, FULL, __ATOMIC_RELEASE);
		return;
	}
	rdb_warn("more than %d signals wait: signal %d is lost", QUEUE, sig);
}

/* The next one of a real-time signal that was just taken. */
static void refill(int sig, struct thread *t)
{
	struct queued *oldest = NULL;
	for (struct queued *q = held.more; q < held.more + QUEUE; q++)
		if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig && q->to == t &&
		    (!oldest || q->order < oldest->order))
			oldest = q;
	if (!oldest)
		return;
	put(sig, &oldest->info, t);
	__atomic_store_n(&oldest->state, FREE, __ATOMIC_RELEASE);
}

uint64_t signal_arrived(const struct thread *t)
{
	return t->pending | held.pending;
}

uint64_t signal_due(const struct thread *t)
{
	return signal_arrived(t) & ~t->upper.sigmask;
}

bool signal_take(uint64_t set, siginfo_t *info, int *sig)
{
	struct thread *self = thread_self();
	uint64_t due = signal_arrived(self) & set;
	if (!due)
		return false;
	*sig = __builtin_ctzl(due) + 1;
	struct thread *of = self->pending & BIT(*sig) ? self : NULL;
	const bool queues = *sig >= FIRST_REAL_TIME;
	const uint64_t one = BIT(*sig);
	uint64_t mask = 0;
	if (queues) /* between taking one and filling its place from the queue none may come */
		raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&one, (long)&mask, 8, 0, 0);
	*info = of ? self->info[*sig] : held.info[*sig];
	if (info->si_code == SI_TIMER)
		timer_taken(info);
	__atomic_and_fetch(of ? &self->pending : &held.pending, ~BIT(*sig), __ATOMIC_SEQ_CST);
	if (queues) {
		refill(*sig, of);
		raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
	}
	return true;
}

void signal_claim(struct thread *self)
{
	uint64_t mine = held.pending & ~self->upper.sigmask;
	while (mine) {
		int sig = __builtin_ctzl(mine) + 1;
		mine &= mine - 1;
		if (__atomic_fetch_and(&held.pending, ~BIT(sig), __ATOMIC_SEQ_CST) & BIT(sig)) {
			siginfo_t info = held.info[sig];
			if (sig >= FIRST_REAL_TIME)
				refill(sig, NULL);
			signal_keep(sig, &info, self);
		}
	}
}

void signal_discard(int sig)
{
	__atomic_and_fetch(&held.pending, ~BIT(sig), __ATOMIC_SEQ_CST);
	for (struct thread *t = threads_first(); t; t = t->next)
		__atomic_and_fetch(&t->pending, ~BIT(sig), __ATOMIC_SEQ_CST);
	for (struct queued *q = held.more; q < held.more + QUEUE; q++)
		if (q->sig == sig)
			__atomic_store_n(&q->state, FREE, __ATOMIC_RELEASE);
}

static unsigned add_queued(siginfo_t *list, const struct thread *to, int sig)
{
	unsigned n = 0;
	for (uint64_t after = 0;;) {
		const struct queued *next = NULL;
		for (const struct queued *q = held.more; q < held.more + QUEUE; q++)
			if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig && q->to == to &&
			    q->order > after && (!next || q->order < next->order))
				next = q;
		if (!next)
			return n;
		after = next->order;
		list[n++] = next->info;
	}
}

unsigned signals_kept(const struct thread *t, siginfo_t list[SIGNALS_KEPT])
{
	unsigned n = 0;
	for (int sig = 1; sig <= 64; sig++) {
		if (t->pending & BIT(sig)) {
			list[n++] = t->info[sig];
			n += add_queued(list + n, t, sig);
		}
		if (held.pending & BIT(sig)) {
			list[n++] = held.info[sig];
			n += add_queued(list + n, NULL, sig);
		}
	}
	return n;
}

void signal_to_kernel(uint64_t set)
{
	siginfo_t info;
	for (int sig = 1; sig <= 64; sig++)
		while (held.pending & set & BIT(sig)) {
			info = held.info[sig];
			__atomic_and_fetch(&held.pending, ~BIT(sig), __ATOMIC_SEQ_CST);
			if (sig >= FIRST_REAL_TIME)
				refill(sig, NULL);
			raw_syscall(SYS_rt_sigqueueinfo, lower.pid, sig, (long)&info, 0, 0, 0);
		}
}

void signals_forget(void)
{
	held.pending = 0;
	memset(held.more, 0, sizeof(held.more));
}

void signals_give_back(void)
{
	struct thread *self = thread_self();
	for (int sig = 1; sig <= 64; sig++)
		while (self->pending & BIT(sig)) {
			siginfo_t info = self->info[sig];
			__atomic_and_fetch(&self->pending, ~BIT(sig), __ATOMIC_SEQ_CST);
			if (sig >= FIRST_REAL_TIME)
				refill(sig, self);
			raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), sig,
				    (long)&info, 0, 0);
		}
	signal_to_kernel(~0ul);
}

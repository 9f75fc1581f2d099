#include "task/signal_queue.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/descriptors.h"
#include "base/pids.h"
#include "base/user.h"
#include "task/queued_to.h"
#include "task/signal_frame.h"
#include "task/signals.h"

enum { FIRST_REAL_TIME = 32, QUEUE = 256, TIMERS = 256, FREE = 0, TAKEN = 1, FULL = 2 };

/* Further instances of a real-time signal that is pending already. */
struct queued {
	uint32_t state;
	int sig;
	struct thread *to;
	uint64_t order;
	siginfo_t info;
};

struct block {
	struct queued more[QUEUE];
	struct block *next; /* the next block, made once this one was full */
};

/* What arrived for the process while all threads blocked it. */
static struct {
	volatile uint64_t pending;
	uint64_t claimed; /* as in struct thread */
	siginfo_t info[65];
	struct block first;
	uint64_t order;
} held;

#define EACH_QUEUED(q) \
	for (struct block *in = &held.first; in; in = __atomic_load_n(&in->next, __ATOMIC_ACQUIRE)) \
		for (struct queued *q = in->more; q < in->more + QUEUE; q++)

/* The place of a signal's first instance.  Handlers of several threads may want it at once: only whoever has claimed it
 * writes it, and only whoever has cleared its pending bit reads it, claims the next one for it, or releases it. */
static siginfo_t *place(int sig, struct thread *t)
{
	return t ? &t->info[sig] : &held.info[sig];
}

static bool claim(int sig, struct thread *t)
{
	return !(__atomic_fetch_or(t ? &t->claimed : &held.claimed, BIT(sig), __ATOMIC_SEQ_CST) & BIT(sig));
}

static void release(int sig, struct thread *t)
{
	__atomic_and_fetch(t ? &t->claimed : &held.claimed, ~BIT(sig), __ATOMIC_SEQ_CST);
}

static bool unset(int sig, struct thread *t)
{
	return __atomic_fetch_and(t ? &t->pending : &held.pending, ~BIT(sig), __ATOMIC_SEQ_CST) & BIT(sig);
}

static void put(int sig, const siginfo_t *info, struct thread *t)
{
	*place(sig, t) = *info;
	__atomic_or_fetch(t ? &t->pending : &held.pending, BIT(sig), __ATOMIC_SEQ_CST);
}

static bool same_timer(const siginfo_t *a, const siginfo_t *b)
{
	return a->si_code == SI_TIMER && b->si_code == SI_TIMER && a->si_timerid == b->si_timerid;
}

static bool counted_with(int sig, const siginfo_t *info, struct thread *t)
{
	siginfo_t *first = place(sig, t), *waits = NULL;
	if ((t ? t->pending : held.pending) & BIT(sig) && same_timer(first, info))
		waits = first;
	EACH_QUEUED(q)
	if (!waits && __atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig && q->to == t &&
	    same_timer(&q->info, info))
		waits = &q->info;
	if (!waits)
		return false;
	__atomic_add_fetch(&waits->si_overrun, 1 + info->si_overrun, __ATOMIC_RELAXED);
	return true;
}

/* The timer's waiting signal may be the process's, since all threads blocked it, while this one is for a thread that
 * does not any more. */
static bool overruns(int sig, const siginfo_t *info, struct thread *t)
{
	return counted_with(sig, info, t) || (t && counted_with(sig, info, NULL));
}

static struct {
	struct {
		int id, overrun; /* overrun: of the signal that was taken last */
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

static bool queued_in(struct block *in, int sig, const siginfo_t *info, struct thread *t)
{
	for (struct queued *q = in->more; q < in->more + QUEUE; q++) {
		uint32_t expected = FREE;
		if (!__atomic_compare_exchange_n(&q->state, &expected, TAKEN, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		q->sig = sig;
		q->to = t;
		q->info = *info;
		q->order = __atomic_add_fetch(&held.order, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&q->state, FULL, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

/* The block after it, made if there is none; NULL: there is no memory. */
static struct block *after(struct block *in)
{
	struct block *next = __atomic_load_n(&in->next, __ATOMIC_ACQUIRE), *none = NULL;
	if (next)
		return next;
	const long made = raw_syscall(SYS_mmap, 0, sizeof(*in), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				      0);
	if (made < 0)
		return NULL;
	if (__atomic_compare_exchange_n(&in->next, &none, (struct block *)made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return (struct block *)made;
	raw_syscall(SYS_munmap, made, sizeof(*in), 0, 0, 0, 0);
	return none; /* another thread's */
}

static void queue(int sig, const siginfo_t *info, struct thread *t)
{
	struct block *in = &held.first;
	while (in && !queued_in(in, sig, info, t))
		in = after(in);
	if (!in)
		rdb_warn("out of memory for pending signals: signal %d is lost", sig);
}

static struct queued *oldest(int sig, const struct thread *t)
{
	struct queued *found = NULL;
	EACH_QUEUED(q)
	if (__atomic_load_n(&q->state, __ATOMIC_SEQ_CST) == FULL && q->sig == sig && q->to == t &&
	    (!found || q->order < found->order))
		found = q;
	return found;
}

/* Puts the next instance of a real-time signal in its claimed place.  Without one releases the place; one that is queued
 * just then is either seen here, or its handler sees that the place is free. */
static void refill(int sig, struct thread *t)
{
	do {
		struct queued *next = sig >= FIRST_REAL_TIME ? oldest(sig, t) : NULL;
		if (next) {
			const siginfo_t info = next->info;
			__atomic_store_n(&next->state, FREE, __ATOMIC_RELEASE);
			put(sig, &info, t);
			return;
		}
		release(sig, t);
	} while (sig >= FIRST_REAL_TIME && oldest(sig, t) && claim(sig, t));
}

/* Takes the first instance out.  False: another thread has just done so. */
static bool take_out(int sig, struct thread *t, siginfo_t *info)
{
	if (!unset(sig, t))
		return false;
	*info = *place(sig, t);
	refill(sig, t);
	return true;
}

void signal_keep(int sig, const siginfo_t *info, struct thread *t)
{
	if (info->si_code == SI_TIMER && overruns(sig, info, t))
		return;
	if (claim(sig, t)) {
		put(sig, info, t);
	} else if (sig >= FIRST_REAL_TIME) { /* of other signals the first is kept: kernel/signal.c, legacy_queue */
		queue(sig, info, t);
		if (claim(sig, t))
			refill(sig, t);
	}
}

bool signal_left(struct thread *t, int sig, siginfo_t *info)
{
	while (take_out(sig, t, info))
		if (!signals_for_one(info))
			return true;
	return false;
}

uint64_t signal_shared(void)
{
	return held.pending;
}

uint64_t signal_arrived(const struct thread *t)
{
	return t->pending | held.pending;
}

uint64_t signal_due(const struct thread *t)
{
	return signal_arrived(t) & ~t->upper.sigmask;
}

/* Adds what has come since to the signal that is about to be taken: the kernel would have merged the two. */
static void fetch_held_back(int sig)
{
	const struct timespec now = {0};
	const uint64_t one = BIT(sig);
	siginfo_t more;
	while (raw_syscall(SYS_rt_sigtimedwait, (long)&one, (long)&more, (long)&now, 8, 0, 0) == sig) {
		const bool mine = signals_for_one(&more);
		pids_signal(&more);
		signal_keep(sig, &more, mine ? thread_self() : NULL);
		if (sig < FIRST_REAL_TIME || more.si_code == SI_TIMER)
			break;
	}
}

/* kernel/signal.c, dequeue_signal and next_signal: a thread's own signals come before the process's, signals that
 * faults raise before others. */
static uint64_t first_due(struct thread *self, uint64_t set)
{
	const uint64_t due = signal_arrived(self) & set;
	uint64_t own = 0;
	for (uint64_t left = self->pending & set; left; left &= left - 1)
		if (signals_for_one(place(__builtin_ctzl(left) + 1, self)))
			own |= left & -left;
	const uint64_t of = own ? own : due;
	return of & SYNCHRONOUS ? of & SYNCHRONOUS : of;
}

uint64_t signal_first(uint64_t set)
{
	const uint64_t due = first_due(thread_self(), set);
	return due & -due;
}

bool signal_take(uint64_t set, siginfo_t *info, int *sig)
{
	struct thread *self = thread_self();
	struct thread *of;
	do {
		const uint64_t due = first_due(self, set);
		if (!due)
			return false;
		*sig = __builtin_ctzl(due) + 1;
		of = self->pending & BIT(*sig) ? self : NULL;
		if (self->held_back & BIT(*sig))
			fetch_held_back(*sig);
	} while (!take_out(*sig, of, info));
	if (info->si_code == SI_TIMER)
		timer_taken(info);
	queued_to_unmark(info);
	signals_sync_kernel(self);
	return true;
}

void signal_claim(struct thread *self)
{
	uint64_t mine = held.pending & ~self->upper.sigmask;
	while (mine) {
		int sig = __builtin_ctzl(mine) + 1;
		siginfo_t info;
		mine &= mine - 1;
		if (take_out(sig, NULL, &info))
			signal_keep(sig, &info, self);
	}
}

void signal_discard(int sig)
{
	siginfo_t dropped;
	EACH_QUEUED(q)
	if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig)
		__atomic_store_n(&q->state, FREE, __ATOMIC_RELEASE);
	take_out(sig, NULL, &dropped);
	threads_walk_begin();
	for (struct thread *t = threads_first(); t; t = t->next) {
		take_out(sig, t, &dropped);
		if (t->held_back & BIT(sig) && t != thread_self())
			signals_remind(t); /* that thread opens its mask again */
	}
	threads_walk_end();
	signals_sync_kernel(thread_self());
}

static void forget_sent(int id, struct thread *t)
{
	for (int sig = 1; sig <= 64; sig++) {
		const siginfo_t *info = place(sig, t);
		siginfo_t dropped;
		if ((t ? t->pending : held.pending) & BIT(sig) && info->si_code == SI_TIMER && info->si_timerid == id)
			take_out(sig, t, &dropped);
	}
}

void signal_forget_timer(int id)
{
	EACH_QUEUED(q)
	if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->info.si_code == SI_TIMER &&
	    q->info.si_timerid == id)
		__atomic_store_n(&q->state, FREE, __ATOMIC_RELEASE);
	forget_sent(id, NULL);
	threads_walk_begin();
	for (struct thread *t = threads_first(); t; t = t->next)
		forget_sent(id, t);
	threads_walk_end();
	for (unsigned i = 0; i < timers.n; i++)
		if (timers.list[i].id == id)
			timers.list[i].overrun = 0;
}

static int add_kept(struct table *list, const struct thread *to, const siginfo_t *info)
{
	const struct kept_signal one = {.thread = to ? to->upper.number : SIGNAL_FOR_ANY, .info = *info};
	return table_add(list, &one, sizeof(one));
}

static int add_queued(struct table *list, const struct thread *to, int sig)
{
	for (uint64_t after = 0;;) {
		const struct queued *next = NULL;
		EACH_QUEUED(q)
		if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) == FULL && q->sig == sig && q->to == to &&
		    q->order > after && (!next || q->order < next->order))
			next = q;
		if (!next)
			return 0;
		after = next->order;
		const int rc = add_kept(list, to, &next->info);
		if (rc)
			return rc;
	}
}

/* T NULL: signals for any thread. */
static int add_all(struct table *list, const struct thread *t)
{
	const uint64_t pending = t ? t->pending : held.pending;
	int rc = 0;
	for (int sig = 1; sig <= 64 && !rc; sig++) {
		if (!(pending & BIT(sig)))
			continue;
		rc = add_kept(list, t, t ? &t->info[sig] : &held.info[sig]);
		if (!rc)
			rc = add_queued(list, t, sig);
	}
	return rc;
}

int signals_kept(struct table *list)
{
	int rc = add_all(list, NULL);
	for (const struct thread *t = threads_first(); t && !rc; t = t->next)
		rc = add_all(list, t);
	return rc;
}

/* proc(5), /proc/pid/status: does a signal of that number wait for the calling thread alone? */
static bool for_thread(int sig)
{
	static char text[4096];
	descriptor_text("/proc/thread-self/status", text, sizeof(text));
	const char *line = strstr(text, "\nSigPnd:");
	return line && strtoul(line + 8, NULL, 16) & BIT(sig);
}

bool kept_signal_from_kernel(uint64_t set, struct kept_signal *next)
{
	const struct timespec at_once = {0};
	uint64_t waits = 0;
	raw_syscall(SYS_rt_sigpending, (long)&waits, 8, 0, 0, 0, 0);
	if (!(waits &= set))
		return false;
	const int sig = __builtin_ctzl(waits) + 1;
	const uint64_t one = BIT(sig);
	*next = (struct kept_signal){.thread = for_thread(sig) ? thread_self()->upper.number : SIGNAL_FOR_ANY,
				     .in_kernel = 1};
	if (raw_syscall(SYS_rt_sigtimedwait, (long)&one, (long)&next->info, (long)&at_once, 8, 0, 0) != sig)
		return false;
	pids_signal(&next->info);
	return true;
}

void kept_signal_to_kernel(const struct kept_signal *one)
{
	siginfo_t info = one->info;
	pids_signal_now(&info);
	if (one->thread == SIGNAL_FOR_ANY) {
		/* do_rt_sigqueueinfo() lets only the first thread say what kill(2) says */
		if (raw_syscall(SYS_rt_sigqueueinfo, lower.pid, info.si_signo, (long)&info, 0, 0, 0))
			raw_syscall(SYS_kill, lower.pid, info.si_signo, 0, 0, 0, 0);
	} else {
		raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), info.si_signo,
			    (long)&info, 0, 0);
	}
}

void signal_to_kernel(uint64_t set)
{
	struct kept_signal one = {.thread = SIGNAL_FOR_ANY};
	for (int sig = 1; sig <= 64; sig++)
		while (set & BIT(sig) && take_out(sig, NULL, &one.info))
			kept_signal_to_kernel(&one);
}

void signals_forget(void)
{
	struct thread *self = thread_self();
	self->pending = self->claimed = 0;
	held.pending = held.claimed = 0;
	EACH_QUEUED(q)
	q->state = FREE;
	self->kernel_mask &= ~self->held_back;
	self->held_back = 0;
}

void signals_give_back(void)
{
	struct thread *self = thread_self();
	/* the process's signals too, if another thread, which execve(2) ends, would take them again */
	const bool all = threads_alive() > 1;
	struct kept_signal one = {.thread = self->upper.number};
	for (int sig = 1; sig <= 64; sig++)
		while (take_out(sig, self, &one.info) || (all && take_out(sig, NULL, &one.info)))
			kept_signal_to_kernel(&one);
	signal_to_kernel(~0ul);
}

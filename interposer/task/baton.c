#include "task/baton.h"
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include "arch/pause.h"
#include "crossing/boundary.h"
#include "crossing/clock_fast.h"
#include "base/chance.h"
#include "base/monotonic.h"
#include "marks/spin.h"
#include "task/chaos.h"
#include "task/signals.h"
#include "task/thread.h"
#include "text/spin_sites.h"

static struct {
	uint32_t lock;
	bool open;      /* the recording is over: nobody needs the baton */
	uint32_t taken; /* how often a thread found the baton free and took it */
	struct thread *holder, *head, *tail;
} baton;

static void lock(void)
{
	while (__atomic_exchange_n(&baton.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&baton.lock, 0, __ATOMIC_RELEASE);
}

static bool needed(void)
{
	return recording() && !baton.open;
}

enum turn { TURN_TO_COME, TURN_HERE, TURN_SLEEPS };

static void wake(struct thread *t)
{
	if (__atomic_exchange_n(&t->turn, TURN_HERE, __ATOMIC_ACQ_REL) == TURN_SLEEPS)
		raw_syscall(SYS_futex, (long)&t->turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* ---- looking at the holder ---- */

/* A spin is found after no more than this, or after as long as its thread has computed before.  A look costs some 15
 * us. */
static const uint64_t LOOK_FIRST_NS = 30000, LOOK_LAST_NS = 1000000;
static const uint64_t AWAKE_NS = 50000, AWAKE_LONG_NS = 500000;
enum { NAPS = 8 };                        /* after a longer wait a thread sleeps at once, so many times */
static const uint64_t COMES_NS = 2000000; /* by then a woken thread has taken the baton */
char baton_look_cookie;

static void look_in(const struct thread *t, uint64_t ns)
{
	const struct itimerspec in = {.it_value = {.tv_nsec = (long)ns}};
	raw_syscall(SYS_timer_settime, t->look, 0, (long)&in, 0, 0, 0);
}

static const uint64_t LOOK_LATER_NS = 300000; /* a thread that has given way in a known spin needs no early look */

static void look_again(struct thread *t)
{
	t->looked = true;
	look_in(t, t->look_ns);
}

/* The holder's own timer sends the look: a waiting thread would first have to get a processor. */
static void look_begin(struct thread *t)
{
	if (t->stands_in) {
		t->stands_in();
		return;
	}
	if (!t->look_made) {
		struct sigevent how = {.sigev_notify = SIGEV_THREAD_ID,
				       .sigev_signo = SIGNALS_REMINDER,
				       .sigev_value.sival_ptr = &baton_look_cookie};
		how._sigev_un._tid = t->carrier;
		t->look_made = !raw_syscall(SYS_timer_create, CLOCK_MONOTONIC, (long)&how, (long)&t->look, 0, 0, 0);
	}
	t->look_ns = t->spun ? LOOK_LATER_NS : LOOK_FIRST_NS;
	if (t->look_made)
		look_again(t);
}

static void look_end(struct thread *t)
{
	if (t->looked)
		look_in(t, 0);
	t->looked = false;
}

void baton_looked(void)
{
	struct thread *self = thread_self();
	if (baton.holder != self || !baton.head || !self->looked) {
		self->looked = false;
		return;
	}
	spin_sites_wake();
	self->look_ns = self->look_ns < LOOK_LAST_NS / 2 ? self->look_ns * 2 : LOOK_LAST_NS;
	look_again(self);
}

void baton_gone(struct thread *t)
{
	if (t->look_made)
		raw_syscall(SYS_timer_delete, t->look, 0, 0, 0, 0, 0);
	t->look_made = t->looked = false;
}

/* ---- taking and giving ---- */

static void remind_holder(void)
{
	if (baton.holder && baton.holder->stands_in)
		baton.holder->stands_in();
	else if (baton.holder)
		signals_remind(baton.holder);
}

/* The holder's slice is over: reminds it, if SELF waits longest. */
static void remind(struct thread *self)
{
	lock();
	if (baton.head == self)
		remind_holder();
	unlock();
}

static struct timespec end_of(long slice_ms)
{
	const uint64_t whole_ns = (uint64_t)(slice_ms ? slice_ms : 1) * 1000000u;
	const uint64_t slice_ns = lower.opt.chaos ? chaos_slice_ns(whole_ns) : whole_ns;
	struct timespec at;
	/* a system call, since the vDSO reads the counter, which may trap here, perhaps into UCX's handler while an MPI
	 * is loaded */
	raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&at, 0, 0, 0, 0);
	const uint64_t end_ns = (uint64_t)at.tv_nsec + slice_ns;
	at.tv_sec += (long)(end_ns / 1000000000u);
	at.tv_nsec = (long)(end_ns % 1000000000u);
	return at;
}

/* Longer where each thread has a processor of its own, since it would spin there without us. */
static uint64_t awake_ns(void)
{
	static unsigned processors;
	cpu_set_t set;
	if (!processors)
		processors = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
	return processors == 1 ? 0 : threads_alive() > processors ? AWAKE_NS : AWAKE_LONG_NS;
}

/* Spins for its turn for a moment: to be woken takes longer than many a wait. */
static bool awake(struct thread *self)
{
	uint64_t until;
	if (self->naps) {
		self->naps--;
		return false;
	}
	until = monotonic_ns() + awake_ns();
	for (unsigned n = 1; n % 64 || monotonic_ns() < until; n++) {
		if (__atomic_load_n(&self->turn, __ATOMIC_ACQUIRE) == TURN_HERE)
			return true;
		cpu_pause();
	}
	self->naps = NAPS;
	return false;
}

static bool sleeps(struct thread *self)
{
	uint32_t before = TURN_TO_COME;
	__atomic_compare_exchange_n(&self->turn, &before, TURN_SLEEPS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return before != TURN_HERE;
}

/* After a blocking call a thread waits only a quarter of a slice. */
enum { SOONER = 4 };

static void join(struct thread *self)
{
	self->turn = TURN_TO_COME;
	self->behind = NULL;
	if (baton.tail)
		baton.tail->behind = self;
	else
		baton.head = self;
	baton.tail = self;
}

static void wait_for_turn(struct thread *self, long slice_ms)
{
	/* absolute: signals that arrive meanwhile must not put it off */
	struct timespec until = end_of(slice_ms);
	while (sleeps(self))
		if (raw_syscall(SYS_futex, (long)&self->turn, FUTEX_WAIT_BITSET_PRIVATE, TURN_SLEEPS, (long)&until, 0,
				FUTEX_BITSET_MATCH_ANY) == -ETIMEDOUT) {
			remind(self);
			until = end_of(slice_ms);
		}
}

/* Makes the holder read clocks in the general way, where it may be found to poll.  If it decrements the count just now,
 * that happens a little later. */
static void clocks_ask(void)
{
	__atomic_store_n(&clock_fast_.left, 0, __ATOMIC_RELAXED);
}

static void queue(long slice_ms)
{
	struct thread *self = thread_self();
	if (!needed())
		return;
	lock();
	if (!baton.holder || baton.open) {
		baton.holder = self;
		baton.taken++;
		unlock();
		return;
	}
	join(self);
	if (!baton.holder->looked)
		look_begin(baton.holder);
	spin_sites_wake();
	clocks_ask();
	unlock();
	wait_for_turn(self, slice_ms);
}

static void take(long slice_ms)
{
	queue(slice_ms);
	if (!thread_self()->stands_in)
		thread_traps();
}

void baton_take(void)
{
	take(lower.opt.slice_ms);
}

/* T spins for what has not come, and the calling thread does not spin for anything that T changes in its turns. */
static bool in_vain(const struct thread *t)
{
	return t->spin.n && !t->spin.asks && !spin_ends(&t->spin) && !spin_changes(&t->spin, &thread_self()->spin);
}

/* How many of those that wait are passed over. */
static uint64_t passed_over(void)
{
	uint64_t n = 0;
	if (!lower.opt.chaos)
		return 0;
	for (const struct thread *t = baton.head; t; t = t->behind)
		n++;
	return n ? chance_below(n) : 0;
}

static struct thread *take_out(bool any)
{
	struct thread *before = NULL, *t = baton.head;
	for (uint64_t over = any ? passed_over() : 0; t && (any ? over > 0 : in_vain(t)); over--) {
		before = t;
		t = t->behind;
	}
	if (!t)
		return NULL;
	if (before)
		before->behind = t->behind;
	else
		baton.head = t->behind;
	if (baton.tail == t)
		baton.tail = before;
	return t;
}

void baton_give(void)
{
	if (!needed())
		return;
	lock();
	if (baton.holder)
		look_end(baton.holder);
	struct thread *next = take_out(true);
	if (next && baton.head)
		look_begin(next);
	baton.holder = next;
	unlock();
	if (next)
		wake(next);
}

bool baton_of_use(void)
{
	lock();
	const struct thread *t = baton.head;
	while (t && in_vain(t))
		t = t->behind;
	unlock();
	return t;
}

/* To the next thread, in one step: else it would find nobody waiting, and spin without giving way.  any: even if it
 * waits in vain.  False: there is none. */
static bool hand_over(struct thread *self, bool any)
{
	self->yield = false;
	lock();
	struct thread *next = take_out(any);
	if (next) {
		join(self);
		if (!next->looked)
			look_begin(next); /* its own look of before may still be on its way, which does no harm */
		baton.holder = next;
		clocks_ask();
		if (any)
			spin_sites_wake();
	}
	unlock();
	if (next)
		wake(next);
	return next;
}

void baton_pass(void)
{
	struct thread *self = thread_self();
	self->spun = true;
	if (!hand_over(self, false))
		return;
	const uint64_t since = monotonic_ns();
	if (!awake(self)) {
		wait_for_turn(self, lower.opt.slice_ms);
		if (monotonic_ns() - since < awake_ns())
			self->naps = 0;
	}
	thread_traps();
}

struct thread *baton_visit(struct thread *visitor, uint32_t before, uint32_t after)
{
	struct thread *visited = NULL;
	lock();
	if (!baton.holder)
		baton.holder = visited = visitor;
	else if (!baton.holder->stands_in && __atomic_compare_exchange_n(&baton.holder->still, &before, after, false,
									 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		visited = baton.holder;
	unlock();
	return visited;
}

void baton_remind_holder(void)
{
	lock();
	remind_holder();
	unlock();
}

bool baton_held(void)
{
	return baton.holder == thread_self();
}

bool baton_free(void)
{
	return !baton.holder;
}

bool baton_by_thread(void)
{
	lock();
	const bool by_thread = baton.holder && !baton.holder->stands_in;
	unlock();
	return by_thread;
}

bool baton_wanted(void)
{
	return baton.head != NULL;
}

const struct spin *baton_spin(const struct spin *changes)
{
	lock();
	const struct thread *t = baton.head;
	while (t && !(t->spin.n && (!changes || spin_changes(changes, &t->spin))))
		t = t->behind;
	unlock();
	return t ? &t->spin : NULL;
}

void baton_yield(void)
{
	if (needed() && hand_over(thread_self(), true)) {
		wait_for_turn(thread_self(), lower.opt.slice_ms);
		if (!thread_self()->stands_in)
			thread_traps();
	}
}

void baton_rest(void)
{
	const uint64_t ns = chaos_rest_ns();
	const struct timespec rest = {.tv_nsec = (long)ns};
	baton_give();
	if (ns)
		nanosleep(&rest, NULL); /* a signal ends it, whoever it is for */
	baton_take();
	spin_sites_wake();
}

void baton_late(void)
{
	if (chaos_late())
		baton_rest();
}

/* Has another thread that waits there been woken in vain before? */
static bool missed(uint64_t futex)
{
	bool any = false;
	threads_lock();
	for (const struct thread *t = threads_first(); t; t = t->next)
		any |= t != thread_self() && t->waits_at == futex && t->missed_at == futex;
	threads_unlock();
	return any;
}

void baton_hand_on(uint64_t futex)
{
	if (!needed() || !missed(futex))
		return;
	const uint64_t until = monotonic_ns() + COMES_NS;
	const uint32_t before = baton.taken; /* a thread may have taken it and given it back */
	baton_give();
	while (!__atomic_load_n(&baton.holder, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&baton.taken, __ATOMIC_SEQ_CST) == before && monotonic_ns() < until)
		sched_yield();
	baton_take();
}

bool baton_block_begin(void)
{
	if (!needed() || !threads_compete())
		return false;
	event_waits();
	baton_give();
	return true;
}

void baton_block_end(bool given)
{
	if (given)
		take(lower.opt.slice_ms / SOONER);
}

void baton_open(void)
{
	lock();
	spin_sites_lift();
	baton.open = true;
	struct thread *t = baton.head;
	baton.head = baton.tail = NULL;
	unlock();
	while (t) {
		struct thread *next = t->behind;
		wake(t);
		t = next;
	}
}

void baton_reset(void)
{
	baton.lock = 0;
	baton.open = false;
	baton.holder = thread_self();
	baton.head = baton.tail = NULL;
	spin_sites_settle();
	chaos_begins();
}

#include "task/computation.h"
#include "arch/registers.h"
#include "base/lower.h"
#include "base/monotonic.h"
#include "crossing/arrivals.h"
#include "task/baton.h"
#include "crossing/boundary.h"
#include "text/hot_stubs.h"
#include "text/counter_sites.h"
#include "marks/mark.h"
#include "marks/spin.h"
#include "space/device_memory.h"
#include "space/shared_memory.h"
#include "task/signals.h"
#include "task/thread.h"

enum {
	RELEASE_INSTRUCTIONS = 500, /* the look for a place where a lock is free: 20 us */
	TURN_INSTRUCTIONS = 500,    /* the look for a spin; */
	LONG_INSTRUCTIONS = 2000,   /* a spin with long turns, as in programs that are not optimised, */
	LONG_AFTER_NS = 500000,     /* in a long computation, or after such a spin */
	TURN_NS_CHAOS = 10000,      /* with --chaos slices may be short */
};

void computation_resumed(ucontext_t *uc)
{
	struct event *ev = event_begin(LOG_RESUME, 0, NULL, 0);
	event_end(ev);
	event_answered(uc);
}

static bool about_to_ask(ucontext_t *uc)
{
	counter_stub_leave(uc);
	return counter_stubs_inside(UC_PC(uc)) || (UC_PC(uc) & ~(RDB_PAGE - 1)) == RDB_GATE_CODE ||
	       hot_stubs_leading(uc);
}

static bool contested(uint64_t start, uint64_t end)
{
	return shared_contested(start, end) || (device_regions && device_memory_in(start, end));
}

static void stop_here(ucontext_t *uc, const struct mark *mark)
{
	struct thread *self = thread_self();
	struct gate_frame *outer = self->frame;
	ucontext_t *before = self->uc;
	self->frame = NULL;
	self->uc = uc;
	struct event *ev = event_begin(LOG_PREEMPT, 0, NULL, 0);
	event_note(ev, RDB_NOTE_MARK, mark, mark_size(mark));
	event_end(ev);
	self->state = THREAD_READY;
	spin_begins(&self->spin);
	event_answered(uc);
	/* also if nobody else wants to run: if the next record were another thread's, it would not be clear whose turn
	 * it is */
	const bool others = threads_compete();
	baton_yield();
	if (others)
		computation_resumed(uc);
	self->resumed_ns = thread_ns();
	self->state = THREAD_RUNS;
	signals_want_delivery(uc);
	self->frame = outer;
	self->uc = before;
}

static void stop(ucontext_t *uc)
{
	struct mark mark;
	if (mark_take(uc, &mark, MARK_INSTRUCTIONS) < 0)
		thread_self()->yield = true;
	else
		stop_here(uc, &mark);
}

/* Anywhere in the turn of a spin: in a part of it the thread may hold a lock which the look at the others did not
 * find. */
static unsigned any_length(void)
{
	static uint32_t chance;
	chance = chance * 1664525 + 1013904223; /* Numerical Recipes, 7.1 */
	return SPIN_INSTRUCTIONS + (chance >> 16) % SPIN_INSTRUCTIONS;
}

/* A delay that looks at nothing is part of something larger: more has to be seen. */
static void stop_spin(ucontext_t *uc, const struct spin *spin)
{
	struct mark mark;
	if (mark_take_within(uc, &mark, spin->n ? any_length() : MARK_INSTRUCTIONS, spin) < 0)
		thread_self()->yield = true;
	else
		stop_here(uc, &mark);
}

/* Stops where what `waits` looks at has changed.  `within`: the spin that uc is in, or an empty one.  False: no such
 * place found. */
static bool hand_on(ucontext_t *uc, const struct spin *waits, const struct spin *within, bool fresh)
{
	struct mark mark;
	if (mark_take_after(uc, &mark, RELEASE_INSTRUCTIONS, waits, within, fresh) != MARK_TAKEN || !spin_ends(waits) ||
	    about_to_ask(uc) || mark.pc != UC_PC(uc))
		return false;
	stop_here(uc, &mark);
	return true;
}

/* A reminder may have come while the records of this turn were written, which can take longer than a slice.  The
 * thread that waits reminds again. */
static bool turn_begins(const struct thread *self)
{
	const uint64_t least_ns = lower.opt.chaos ? TURN_NS_CHAOS : (uint64_t)lower.opt.slice_ms * 500000;
	return thread_ns() - self->resumed_ns < least_ns;
}

void computation_stopped(ucontext_t *uc, bool signal)
{
	mark_contested = contested;
	if (about_to_ask(uc) || (!signal && !arrivals_waiting && turn_begins(thread_self())))
		return;
	thread_self()->yield = false;
	if (signal || baton_wanted() || arrivals_waiting)
		stop(uc);
}

void computation_looked_at(ucontext_t *uc, bool fresh)
{
	struct thread *self = thread_self();
	self->look_missed = false;
	mark_contested = contested;
	/* a thread that has ended goes on in the lower half */
	if (!baton_wanted() || !RDB_RUNS_UPPER(UC_PC(uc)) || about_to_ask(uc))
		return;
	const bool long_turn = self->long_turns || self->look_ns > LONG_AFTER_NS;
	const bool spins = !fresh && spin_here(uc, &self->spin, long_turn ? LONG_INSTRUCTIONS : TURN_INSTRUCTIONS);
	if (!fresh)
		self->long_turns = spins && long_turn;
	if (spins)
		spins_known();
	self->spun &= !spins;
	/* in a spin: a lock that the thread takes in each turn, and that it might have wherever it is stopped */
	const struct spin *waits = baton_spin(spins ? &self->spin : NULL);
	if (!(waits && hand_on(uc, waits, &self->spin, fresh)) && spins)
		stop_spin(uc, &self->spin);
	self->spin.n = 0;
}

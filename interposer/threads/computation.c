#include "threads/computation.h"
#include "boundary/arrivals.h"
#include "threads/baton.h"
#include "boundary/boundary.h"
#include "boundary/hot_stubs.h"
#include "instructions/tsc_sites.h"
#include "marks/mark.h"
#include "marks/spin.h"
#include "signals/signals.h"
#include "threads/thread.h"

void computation_resumed(ucontext_t *uc)
{
	struct event *ev = event_begin(LOG_RESUME, 0, NULL, 0);
	event_end(ev);
	event_answered(uc);
}

static bool about_to_ask(ucontext_t *uc)
{
	tsc_stub_leave(uc);
	return tsc_stubs_inside(UC_REG(uc, RIP)) || (UC_REG(uc, RIP) & ~(RDB_PAGE - 1)) == RDB_GATE_CODE ||
	       hot_stubs_leading(uc);
}

static void stop(ucontext_t *uc, unsigned instructions)
{
	struct thread *self = thread_self();
	struct mark mark;
	if (mark_take(uc, &mark, instructions) < 0) {
		self->yield = true;
		return;
	}
	struct gate_frame *outer = self->frame;
	ucontext_t *before = self->uc;
	self->frame = NULL;
	self->uc = uc;
	struct event *ev = event_begin(LOG_PREEMPT, 0, NULL, 0);
	event_note(ev, RDB_NOTE_MARK, &mark, mark_size(&mark));
	event_end(ev);
	self->state = THREAD_READY;
	event_answered(uc);
	/* also if nobody else wants to run: whose turn it is would not be clear where the next record is
	 * another thread's */
	const bool others = threads_alive() > 1;
	baton_yield();
	if (others)
		computation_resumed(uc);
	self->state = THREAD_RUNS;
	signals_want_delivery(uc);
	self->frame = outer;
	self->uc = before;
}

void computation_stopped(ucontext_t *uc, bool signal)
{
	if (about_to_ask(uc))
		return;
	thread_self()->yield = false;
	if (signal || baton_wanted() || arrivals_waiting)
		stop(uc, MARK_INSTRUCTIONS);
}

void computation_looked_at(ucontext_t *uc)
{
	if (baton_wanted() && !about_to_ask(uc) && spin_here(uc))
		stop(uc, SPIN_INSTRUCTIONS);
}

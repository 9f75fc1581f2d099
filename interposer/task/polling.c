#include "task/polling.h"
#include "crossing/clock_fast.h"
#include "crossing/clock_row.h"
#include "marks/spin.h"
#include "task/baton.h"
#include "task/thread.h"
#include "text/registers.h"
#include "text/counter_sites.h"

enum { SKIP_MOST = 6, SKIP_MOST_ALONE = 10 /* log2 */ };

/* Other threads wait for this one to give way, or it may wait for a time. */
static bool worth_a_look(void)
{
	return recording() && (baton_wanted() || clock_row_may_delay());
}

/* Events to skip, after a turn of each length was looked at in vain. */
static unsigned to_skip(unsigned vain, unsigned most)
{
	const unsigned often = vain / POLLING_EVENTS;
	return vain % POLLING_EVENTS ? 0 : 1u << (often < most ? often : most);
}

/* `still`: clocks go on standing still.  Else a delay within the turn would end each time while it is looked at. */
static void begin_again(struct polling *p, bool still)
{
	p->n = 0;
	p->still = still;
	if (!still)
		p->clocks = 0;
}

/* In turns of one event the first answer comes from a clock that has stood since.  In longer ones the clock goes on
 * within the first turn, so the third one is looked at. */
static unsigned looked_at_from(const struct polling *p)
{
	return p->length == 1 ? 1 : 2 * p->length;
}

static bool comes_round(const struct polling *p)
{
	return p->n >= p->length;
}

static void judged(struct polling *p, bool waits)
{
	const bool wanted = baton_wanted();
	if (!wanted) /* then it waits for a time only */
		waits = waits && !thread_self()->spin.counts;
	p->waits = waits && wanted;
	clock_row.delays = waits && !wanted;
	p->vain = waits ? 0 : p->vain + 1;
	p->skip = waits ? 0 : to_skip(p->vain, wanted ? SKIP_MOST : SKIP_MOST_ALONE);
	if (!waits)
		p->length = p->length % POLLING_EVENTS + 1;
	begin_again(p, !waits && !p->skip);
}

void polling_asks(uint64_t at)
{
	struct thread *self = thread_self();
	struct polling *p = &self->polling;
	if (!lower.started || !worth_a_look() || counter_stubs_inside(at)) {
		p->asks = p->waits = false;
		return;
	}
	if (p->waits && p->site[1 % p->length] == at) {
		self->state = THREAD_ASKS;
		spin_begins(&self->spin);
		baton_pass();
		self->spin.n = 0;
	}
	p->waits = false;
	p->asks = !p->skip;
	p->skip -= p->skip != 0;
	p->length += !p->length;
	if (p->event != lower.event)
		begin_again(p, false);
	if (comes_round(p) && p->site[p->n % p->length] != at)
		judged(p, false);
	p->site[p->n % p->length] = at;
	p->event = lower.event;
	p->is_clock = false;
}

/* Does the turn that is looked at go on? */
static bool goes_on(struct polling *p, ucontext_t *uc)
{
	if (p->n == looked_at_from(p))
		p->turn = spin_asks(uc);
	return spin_asks_more(p->turn, uc, p->site[(p->n + 1) % p->length]);
}

void polling_answered(ucontext_t *uc)
{
	struct thread *self = thread_self();
	struct polling *p = &self->polling;
	p->asks = false;
	if (!worth_a_look() || lower.event != p->event + 1 || self->pending || self->yield) {
		begin_again(p, false);
		return;
	}
	p->event = lower.event;
	if (p->is_clock)
		spin_map_stays();
	clock_fast_.left = 0;
	counter_stub_leave(uc);
	if (p->n == looked_at_from(p) + p->length)
		judged(p, spin_asks_again(p->turn, uc, &self->spin));
	else if (p->n >= looked_at_from(p) && !goes_on(p, uc))
		judged(p, false);
	else
		p->n++;
	counter_stub_enter(uc);
}

int64_t polling_clock(uint64_t clock, int64_t now)
{
	struct polling *p = &thread_self()->polling;
	unsigned i = 0;
	if (!p->asks)
		return now;
	p->is_clock = true;
	while (i < p->clocks && p->clock[i].which != clock)
		i++;
	if (i < p->clocks && (p->still || comes_round(p)))
		return p->clock[i].now;
	if (i < POLLING_EVENTS) {
		p->clocks += i == p->clocks;
		p->clock[i].which = clock;
		p->clock[i].now = now;
	}
	return now;
}

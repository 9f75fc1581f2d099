/* A thread comes by a place where it has waited before by looking at memory (text/spin_sites.h). */
#include "arch/registers.h"
#include "task/computation.h"
#include "task/baton.h"
#include "task/chaos.h"
#include "crossing/event.h"
#include "crossing/hot_sites.h"
#include "marks/mark.h"
#include "marks/spin.h"
#include "task/thread.h"
#include "text/registers.h"
#include "text/spin_sites.h"

void spins_known(void)
{
	uint64_t pc;
	for (unsigned i = 0; (pc = spin_place(i)); i++)
		if (spin_site_at(pc) || spin_site_add(pc, false))
			return;
}

static void stop_at(struct thread *self, const struct mark_counted *place, void (*pass)(void))
{
	struct event *ev = event_begin(LOG_PREEMPT, 0, NULL, 0);
	event_note(ev, RDB_NOTE_COUNTED, place, sizeof(*place));
	event_end(ev);
	spin_map_stays();
	self->state = THREAD_READY;
	spin_begins(&self->spin);
	event_answered(NULL);
	pass();
	ev = event_begin(LOG_RESUME, 0, NULL, 0);
	event_end(ev);
	spin_map_stays();
	event_answered(NULL);
	self->state = THREAD_RUNS;
}

static struct mark_counted place(struct spin_site *site, const ucontext_t *uc)
{
	return (struct mark_counted){uc_pc(uc), spin_site_arrivals(site), mark_counted_check(uc)};
}

/* --chaos: the thread may be late here, just before it accesses memory. */
static bool late(struct thread *self, struct spin_site *site, ucontext_t *uc)
{
	const struct mark_counted here = place(site, uc);
	const bool is = chaos_late_at_place();
	self->spin.n = 0;
	if (is)
		stop_at(self, &here, baton_rest);
	return is;
}

/* True: the thread waited, and has given way. */
static bool look(struct thread *self, struct spin_site *site, ucontext_t *uc)
{
	spin_know_map();
	const bool waits = spin_turn(uc, &self->spin), use = waits && baton_of_use();
	const struct mark_counted here = place(site, uc);
	if (use || !waits)
		spin_site_of_use(site, use);
	if (use)
		stop_at(self, &here, baton_pass);
	self->spin.n = 0;
	return use;
}

uint64_t spins_arrived(ucontext_t *uc, uint64_t tls)
{
	struct thread *self = thread_self();
	struct spin_site *site = spin_site_arrived(uc);
	self->upper.tls = tls;
	const bool chance = spin_site_by_chance(site);
	if (recording() && hot_context_will_do(self) && spin_site_arrivals(site) &&
	    (chance ? threads_alive() > 1 : baton_wanted())) {
		struct hot_outer outer = hot_enter(self, uc);
		self->look_missed = false;
		const bool waited = chance ? late(self, site, uc) : look(self, site, uc);
		spin_site_leads_on(site, uc);
		if (waited)
			return hot_leave(self, uc, outer);
		hot_leave_unasked(self, outer);
		return tls;
	}
	spin_site_leads_on(site, uc);
	return tls;
}

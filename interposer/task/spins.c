/* A thread comes by a place where it has waited before by looking at memory (text/spin_sites.h). */
#include <string.h>
#include "arch/insn.h"
#include "arch/registers.h"
#include "base/user.h"
#include "task/computation.h"
#include "task/baton.h"
#include "task/chaos.h"
#include "crossing/event.h"
#include "crossing/hot_sites.h"
#include "marks/mark.h"
#include "marks/spin.h"
#include "space/device_memory.h"
#include "space/shared_memory.h"
#include "task/thread.h"
#include "text/fetch.h"
#include "text/registers.h"
#include "text/spin_sites.h"

void spins_known(void)
{
	uint64_t pc;
	unsigned turn;
	for (unsigned i = 0; (pc = spin_place(i, &turn)); i++)
		if (spin_site_at(pc) || spin_site_add(pc, turn))
			return;
}

/* An integer that the instruction at a stop changes, as it was when the thread came there. */
struct loaded {
	uint64_t at;
	unsigned size; /* 0: there is none */
	uint8_t bytes[8];
};

static struct loaded load(const ucontext_t *uc)
{
	struct loaded l = {0};
	spin_know_map();
	const struct insn *in = fetch(uc_pc(uc));
	const unsigned size = in && !in->segment && !shared_regions && !device_regions ? insn_changes(in) : 0;
	l.at = size ? decode_address(in, uc) : 0;
	if (size && size <= sizeof(l.bytes) && !user_read(l.bytes, l.at, size))
		l.size = size;
	return l;
}

/* What other threads have stored meanwhile is lost, as if this one had loaded the integer before it rested: with
 * RESUME the log has the value that the instruction finds. */
static void store_back(struct event *ev, const struct loaded *l)
{
	uint8_t now[sizeof(l->bytes)];
	if (l->size && !user_read(now, l->at, l->size) && memcmp(now, l->bytes, l->size) &&
	    !user_write(l->at, l->bytes, l->size))
		event_out(ev, (void *)l->at, l->size);
}

static void stop_at(struct thread *self, const struct mark_counted *place, void (*pass)(void),
		    const struct loaded *loaded)
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
	store_back(ev, loaded);
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
	self->spin.n = 0;
	if (!chaos_late_at_place())
		return false;
	const struct mark_counted here = place(site, uc);
	const struct loaded loaded = load(uc);
	stop_at(self, &here, baton_rest, &loaded);
	return true;
}

/* True: the thread waited, and has given way. */
static bool look(struct thread *self, struct spin_site *site, ucontext_t *uc)
{
	spin_know_map();
	const bool waits = spin_turn(uc, &self->spin, spin_site_turn(site)), use = waits && baton_of_use();
	if (use || !waits)
		spin_site_of_use(site, use);
	if (use) {
		const struct mark_counted here = place(site, uc);
		stop_at(self, &here, baton_pass, &(struct loaded){0});
	}
	self->spin.n = 0;
	return use;
}

uint64_t spins_arrived(ucontext_t *uc, uint64_t tls)
{
	struct thread *self = thread_self();
	struct spin_site *site = spin_site_arrived(uc);
	self->upper.tls = tls;
	const bool chance = !spin_site_turn(site);
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

/* Carrying instructions out: all of them while stepping, a few after a stop while running. */
#include "arch/registers.h"
#include "seek/stepping_state.h"
#include "seek/changes.h"
#include "seek/executable.h"
#include "seek/page_guard.h"
#include "text/registers.h"
#include "seek/text_guard.h"
#include "replay/replica.h"
#include "task/thread.h"
#include "seek/trampoline.h"
#include "seek/undo_log.h"

#define AHEAD 32        /* instructions carried out after a breakpoint, looking for the next */
#define AHEAD_WATCH 500 /* the same after a watchpoint, whose trap costs more */
#define AHEAD_GUARD 150 /* after an access to a guarded page, looking for the next one */
#define AHEAD_FAILURES 8
#define AHEAD_PAUSE 500

static bool left(uint64_t pc)
{
	return stepping.inside &&
	       (pc < stepping.stop_pc || pc >= stepping.stop_n || replica_event() != stepping.began_event);
}

static bool at_target(uint64_t pc, bool arrived)
{
	if (stepping.is_step)
		return stepping.stop.steps == stepping.count || (stepping.stop.steps && left(pc));
	if (replica_event() < stepping.until_event ||
	    (stepping.until_thread && stepping.until_thread != replica_thread()))
		return false;
	if (stepping.until_n == 0)
		return true;
	return arrived && pc == stepping.until_pc && ++stepping.until_hits == stepping.until_n;
}

/* The program stands at an instruction boundary.  `arrived`: and will not meet an int3 here, so the
 * arrival is counted now.  `hit`: what the watchpoints say about the way here. */
enum verdict stepping_settle(ucontext_t *uc, bool arrived, const struct watch_hit *hit, bool by_event)
{
	uint64_t pc = uc_pc(uc), hits = 0, id;
	struct place *p = arrived ? breakpoints_at(pc) : NULL;
	bool full = false;

	stepping.looks++;
	stepping.work += p || (hit && hit->id) ? AGENT_WORK_STOP : 1;
	if (p || (hit && hit->id))
		stepping_flush_hot(0); /* they came before */
	if (p)
		hits = breakpoints_arrived(p, replica_event(), stepping.run, 1);
	if (hit && hit->id && !stepping.blind) {
		if (changes_wanted()) {
			full = changes_add(replica_event(), pc, by_event);
		} else if (!stepping.scan) {
			stepping.stop.id = hit->id;
			stepping.stop.addr = hit->addr;
			stepping.stop.hits = hit->hits;
			stepping.stop.by_event = by_event;
			return stepping_stopped(uc, AGENT_STOP_WATCH, arrived);
		} else {
			stepping_remember(pc, replica_event(), hit->id, hit->hits, by_event, 1);
		}
	}
	if (stepping.has_stop_pc && arrived && pc == stepping.stop_pc && ++stepping.stop_hits == stepping.stop_n) {
		stepping.stop.hits = stepping.stop_hits;
		return stepping_stopped(uc, AGENT_STOP_PC, arrived);
	}
	if (at_target(pc, arrived))
		return stepping_stopped(uc, AGENT_STOP_TARGET, arrived);
	if (arrived && stepping_at_mark(uc))
		return stepping_preempted(uc);
	id = p && !stepping.blind ? breakpoints_stopping(p, uc) : 0;
	if (id && stepping.scan) {
		stepping_remember(pc, replica_event(), id, hits, false, 1);
	} else if (id) {
		stepping.stop.id = id;
		return stepping_stopped(uc, AGENT_STOP_BREAK, arrived);
	}
	if (stepping.interrupt)
		return stepping_stopped(uc, AGENT_STOP_INTERRUPT, arrived);
	return full || stepping.work > stepping.limit ? stepping_stopped(uc, AGENT_STOP_LIMIT, arrived) : GO_ON;
}

static const struct watch_hit *look(const struct emulated *did, bool exact, struct watch_hit *hit)
{
	hit->id = 0;
	if (watch_any() && !(stepping.blind && stepping.is_step))
		watch_check(did, exact, replica_event(), stepping.run, hit);
	return hit;
}

static enum emulation carry_out(ucontext_t *uc, struct emulated *did)
{
	if (executable(uc_pc(uc)))
		return emulate(uc, stepping.real, did);
	*did = (struct emulated){0};
	return EMU_OPAQUE;
}

/* Stepping: emulates until an instruction needs the processor, or the program stops. */
enum verdict stepping_advance(ucontext_t *uc)
{
	struct emulated did;
	struct watch_hit hit;
	enum emulation how;
	enum verdict v;

	for (;;) {
		if (stepping.trace)
			registers_get(uc, &stepping.ring[stepping.stop.steps % TRACE]);
		undo_log_step(stepping.stop.steps);
		if (turns_pending()) {
			undo_log_unknown(stepping.stop.steps);
			return GO_ON;
		}
		how = carry_out(uc, &did);
		if (how != EMU_DONE) {
			undo_log_unknown(stepping.stop.steps);
			stepping_execute(uc, how, &did);
			return GO_ON;
		}
		stepping.stop.steps++;
		v = stepping_settle(uc, true, look(&did, true, &hit), false);
		if (v != GO_ON)
			return v;
	}
}

/* Natively: past the breakpoint at pc, whose arrival has been dealt with (`here`), or on after a
 * watchpoint.  In a tight loop carrying out the few instructions to the next hit is quicker than its
 * signal; when that fails a few times running it is left alone for a while. */
static enum verdict look_ahead(ucontext_t *uc, bool here, unsigned limit)
{
	unsigned ahead = stepping.failed < AHEAD_FAILURES ? limit : here;
	enum verdict v = GO_ON;
	struct emulated did;
	struct watch_hit hit;
	enum emulation how;
	unsigned n;

	for (n = 0; n < ahead && v == GO_ON; n++) {
		struct place *p;
		bool marked;

		how = carry_out(uc, &did);
		if (how != EMU_DONE) {
			if (here)
				stepping_execute(uc, how, &did);
			break;
		}
		/* with one instruction only, an int3 at the new pc is met by going on */
		p = ahead > 1 ? breakpoints_at(uc_pc(uc)) : NULL;
		here = p && p->inserted;
		marked = stepping.mark_pc == uc_pc(uc); /* check for the mark here: quicker than a signal soon after */
		v = stepping_settle(uc, here || marked, look(&did, true, &hit), false);
		if (here || hit.id)
			n = stepping.failed = 0;
		if (v == GO_ON && here && stepping_heat(uc))
			return GO_ON;
		if (stepping.hot && trampoline_at(uc_pc(uc)))
			break; /* the trampoline counts this arrival */
	}
	if (v == GO_ON) {
		stepping.failed += n == ahead;
		if (stepping.failed >= AHEAD_PAUSE)
			stepping.failed = 0;
	}
	return v;
}

enum verdict stepping_over(ucontext_t *uc)
{
	if (stepping_heat(uc))
		return GO_ON;
	return look_ahead(uc, true, AHEAD);
}

static enum verdict executed(ucontext_t *uc, const struct emulated *did, bool arrived)
{
	struct watch_hit hit;
	enum verdict v;

	stepping_land(uc);
	look(did, false, &hit);
	if (stepping.stepping)
		stepping.stop.steps++;
	v = stepping_settle(uc, arrived || stepping.stepping, &hit, false);
	if (v != GO_ON)
		return v;
	if (stepping.stepping)
		return stepping_advance(uc);
	return arrived ? stepping_over(uc) : GO_ON;
}

/* An instruction has been executed for real. */
enum verdict stepping_executed(ucontext_t *uc, bool arrived)
{
	const bool known = stepping.temporary || stepping.single || stepping.finishing;

	return executed(uc, known ? &stepping.executing : NULL, arrived);
}

/* An instruction has raised a fault, and has accessed nothing. */
enum verdict stepping_raised(ucontext_t *uc)
{
	return executed(uc, NULL, false);
}

/* A watchpoint's trap. */
enum verdict stepping_watched(ucontext_t *uc)
{
	enum verdict v = stepping_executed(uc, false);
	const struct place *p = breakpoints_at(uc_pc(uc));

	/* a breakpoint here has not been met yet: its int3 comes first */
	if (v != GO_ON || (p && p->inserted))
		return v;
	return look_ahead(uc, false, AHEAD_WATCH);
}

static bool touches_guarded(const struct emulated *did)
{
	for (unsigned i = 0; i < did->naccess; i++) {
		const struct access *a = &did->access[i];

		if (page_guard_touched(a->addr, a->len) ||
		    (a->write ? text_guard_touched(a->addr, a->len) : text_guard_hides(a->addr, a->len)))
			return true;
	}
	return false;
}

/* An access to a guarded page is about to be made: emulates it, and those that follow as long as there are any. */
enum verdict stepping_at_guarded(ucontext_t *uc)
{
	enum verdict v = GO_ON;
	struct emulated did;
	struct watch_hit hit;
	bool here = true; /* the breakpoint here has been handled and must not be met again */

	for (unsigned n = 0; n < AHEAD_GUARD && v == GO_ON; n++) {
		const struct place *p;
		enum emulation how = carry_out(uc, &did);

		if (how != EMU_DONE) {
			if (here)
				stepping_execute(uc, how, &did);
			stepping.finishing = here;
			break;
		}
		p = breakpoints_at(uc_pc(uc));
		here = p && p->inserted;
		if (here || touches_guarded(&did))
			n = 0;
		v = stepping_settle(uc, here || stepping.mark_pc == uc_pc(uc), look(&did, true, &hit), false);
	}
	return v;
}

/* The counting trampoline trapped: this is the last arrival asked for. */
enum verdict stepping_counted(ucontext_t *uc)
{
	enum verdict v;

	stepping_flush_hot(1);
	stepping.hot_seen++;
	stepping_cool();
	v = stepping_settle(uc, true, NULL, false);
	return v == GO_ON ? stepping_over(uc) : v;
}

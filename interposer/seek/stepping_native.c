/* Running natively: arrivals that are met often, and those at marks, are counted by trampolines. */
#include "arch/registers.h"
#include "seek/stepping_state.h"
#include "marks/mark.h"
#include "seek/mark_learn.h"
#include "seek/page_guard.h"
#include "seek/overdue.h"
#include "seek/text_guard.h"
#include "text/registers.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "task/thread.h"
#include "seek/trampoline.h"
#include "arch/trampoline_code.h"
#include "seek/undo_log.h"

#define FAULTS_MAX 1000 /* jumps into the patch before the trampoline is given up */
#define HOT 64          /* arrivals since an event before they are worth a trampoline */

static bool until_counts(uint64_t pc, uint64_t event)
{
	return stepping.until_n && pc == stepping.until_pc && event >= stepping.until_event;
}

/* Counts the arrivals that the trampoline has seen, except the last `but`, as if each had stopped the program. */
void stepping_flush_hot(uint64_t but)
{
	struct place *p = stepping.hot ? breakpoints_at(stepping.hot_pc) : NULL;
	uint64_t n = stepping.hot ? trampoline_count() - but - stepping.hot_seen : 0, hits, id;

	if (!n || !p)
		return;
	stepping.hot_seen += n;
	hits = breakpoints_arrived(p, stepping.hot_event, stepping.run, n);
	if (until_counts(stepping.hot_pc, stepping.hot_event))
		stepping.until_hits += n;
	id = breakpoints_stopping(p, NULL);
	if (id)
		stepping_remember(stepping.hot_pc, stepping.hot_event, id, hits, false, n);
}

static void disarm(void)
{
	mark_count_to(NULL);
	trampoline_disarm();
}

/* Disarms the counting trampoline: arrivals meet an int3 again. */
void stepping_cool(void)
{
	struct place *p;

	if (!stepping.hot)
		return;
	stepping_flush_hot(0);
	stepping.hot = false;
	trampoline_disarm();
	p = breakpoints_at(stepping.hot_pc);
	if (p)
		breakpoint_insert(p);
}

/* uc stands at a place whose arrival has been handled.  If there have been many arrivals, or many are asked for, a
 * trampoline counts them.  True: uc goes on in it. */
bool stepping_heat(ucontext_t *uc)
{
	struct place *p = breakpoints_at(uc_pc(uc));
	uint64_t n = INT64_MAX;
	bool many;

	if (!p || stepping.stepping || p->addr == stepping.cold_pc || p->hits_run != stepping.run || trampoline_armed())
		return false;
	many = p->hits >= HOT;
	if (until_counts(p->addr, replica_event())) {
		n = stepping.until_n - stepping.until_hits;
		many |= n >= HOT;
	}
	if (!many || replay_mark() || watch_any() || stepping.interrupt || !breakpoints_only_count(p, stepping.scan))
		return false;
	breakpoint_remove(p);
	if (emulate_at_rep_string(uc) || trampoline_arm_count(p->addr, n)) {
		stepping.cold_pc = p->addr;
		breakpoint_insert(p);
		return false;
	}
	text_guard_close(p->addr, PATCH);
	stepping.hot = true;
	stepping.hot_pc = p->addr;
	stepping.hot_event = replica_event();
	stepping.hot_seen = 0;
	trampoline_resume(uc);
	return true;
}

void stepping_disarm(void)
{
	overdue_end();
	stepping_flush_hot(0);
	stepping.hot = false;
	stepping.mark_pc = 0;
	disarm();
	breakpoints_mark(0);
}

static void insert_mark(const struct mark *mark)
{
	struct place *p;

	if (breakpoints_mark(mark->pc))
		rdb_fatal("too many breakpoints: none is left for rdb to stop at a thread switch");
	p = breakpoints_at(mark->pc);
	if (p)
		breakpoint_insert(p);
}

static bool arm_mark(const struct mark *mark)
{
	if (!mark->arrivals)
		return trampoline_arm(mark) == 0;
	if (trampoline_arm_count(mark->pc, (uint64_t)(-*emulate_counted.left)))
		return false;
	mark_count_to(trampoline_left());
	return true;
}

/* Natively a trampoline looks for the mark, at nanoseconds an arrival.  An int3 does where a trampoline is impossible,
 * or the user has a breakpoint at that place.  Text that is not there yet gets no patch: the patch might come to lie
 * inside an instruction. */
static void patch_mark(const struct mark *mark)
{
	bool there = mark_text_here(mark);
	static struct mark compared;

	if (mark->text_len)
		text_guard_close(mark->text_from, mark->text_len);
	compared = *mark;
	compared.nwords = 0;
	/* other words may contain the patch, or reading them would trigger a watchpoint */
	for (unsigned i = 0; i < mark->nwords; i++)
		if (!text_guard_touched(mark->words[i].addr, 8) && !watch_sees(mark->words[i].addr, 8))
			compared.words[compared.nwords++] = mark->words[i];
	/* the trampoline reads the program's memory: no page may be guarded */
	stepping.mark_pc = !there || (!page_guard_any() && arm_mark(&compared)) ? mark->pc : 0;
	if (!stepping.mark_pc)
		insert_mark(replay_mark());
	else if (there)
		text_guard_close(mark->pc, PATCH);
}

/* Takes out all patches in text that the program may write to.  uc: the program's context, which may stand in a
 * trampoline, or NULL. */
void stepping_text_out(ucontext_t *uc)
{
	if (!text_guard_any())
		return;
	if (uc && trampoline_inside(uc))
		trampoline_leave(uc);
	stepping_cool();
	disarm();
	breakpoints_lift(0, 0);
	text_guard_open();
	stepping.text_out = true;
}

/* Puts them back: the program goes on natively. */
void stepping_text_in(void)
{
	const struct mark *mark = replay_mark();

	if (!stepping.text_out)
		return;
	stepping.text_out = false;
	if (mark && !stepping.stepping && !trampoline_armed()) {
		breakpoints_mark(0);
		patch_mark(mark_learned());
	}
	breakpoints_lower();
}

void stepping_arm_mark(void)
{
	const struct mark *mark = replay_mark();

	stepping_disarm();
	stepping.looks = 0;
	if (mark) {
		mark_learn_begin(mark);
		overdue_begin(replica_interval_ns());
	}
	if (mark && !stepping.stepping)
		patch_mark(mark);
}

/* The thread was preempted here: other threads run until the log comes back to it. */
enum verdict stepping_preempted(ucontext_t *uc)
{
	const struct mark *mark = replay_mark();

	if (mark->arrivals && mark_counted_check(uc) != mark->check)
		replay_diverged(uc, "event %lu: at the thread switch at %#lx the registers differ from the recording",
				(unsigned long)replica_event() + 1, (unsigned long)mark->pc);
	mark_arrived(mark, uc);
	stepping_disarm();
	undo_log_unknown(stepping.stop.steps);
	if (stepping.trace)
		registers_get(uc, &stepping.ring[stepping.stop.steps % TRACE]);
	watch_resume(); /* for the threads that run before this one goes on */
	turns_preempted(uc);
	return HANDED;
}

bool stepping_at_mark(ucontext_t *uc)
{
	const struct mark *mark = replay_mark();

	if (!mark || !mark_registers_here(mark, uc))
		return false;
	stepping_text_out(uc);
	return mark_here(mark, uc);
}

/* The trampoline trapped: all that it compares agrees. */
enum verdict stepping_at_trampoline(ucontext_t *uc)
{
	stepping.looks++;
	if (replay_mark()->arrivals)
		--*trampoline_left(); /* this one's instruction has not been carried out */
	if (stepping_at_mark(uc))
		return stepping_preempted(uc);
	if (mark_learn(replay_mark()) && trampoline_armed()) {
		trampoline_disarm();
		patch_mark(mark_learned());
		if (!trampoline_armed())
			return GO_ON;
	}
	if (!trampoline_armed()) /* the patch is out; this arrival must not be met again */
		return stepping_over(uc);
	trampoline_resume(uc);
	return GO_ON;
}

/* A jump into the middle of the patch costs a trap.  If that happens often, an int3 is cheaper. */
bool stepping_into_trampoline(ucontext_t *uc)
{
	if (!trampoline_fault(uc))
		return false;
	if (trampoline_faults() > FAULTS_MAX && (!stepping.hot || trampoline_faults() > trampoline_count() / 2)) {
		if (trampoline_inside(uc))
			trampoline_leave(uc);
		if (stepping.hot) {
			stepping.cold_pc = stepping.hot_pc;
			stepping_cool();
		} else {
			disarm();
			stepping.mark_pc = 0;
			insert_mark(replay_mark());
		}
	}
	return true;
}

#include "agent/stepping.h"
#include <errno.h>
#include <string.h>
#include "agent/breakpoints.h"
#include "agent/changes.h"
#include "instructions/emulate.h"
#include "boundary/hot_stubs.h"
#include "boundary/layout.h"
#include "marks/mark.h"
#include "marks/mark_learn.h"
#include "agent/page_guard.h"
#include "agent/overdue.h"
#include "agent/registers.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "threads/thread.h"
#include "marks/trampoline.h"
#include "agent/undo_log.h"
#include "agent/upper_memory.h"
#include "agent/watch.h"

#define TRACE AGENT_TRACED
#define SENT ((AGENT_PACKET - sizeof(struct agent_reply) - sizeof(struct agent_stop)) / sizeof(struct agent_gpr))

#define AHEAD 32        /* instructions carried out after a breakpoint, looking for the next */
#define AHEAD_WATCH 500 /* the same after a watchpoint, whose trap costs more */
#define AHEAD_GUARD 150 /* after an access to a guarded page, looking for the next one */
#define FAULTS_MAX 1000 /* of jumps into it, before it is given up */
#define AHEAD_FAILURES 8
#define AHEAD_PAUSE 500
#define LOOKS_FEW 10000 /* at arrivals: they take no time */
#define HOT 64          /* arrivals since an event before they are worth a trampoline */

#define FAULT_WRITE 2 /* in a page fault's error code: Intel SDM vol. 3, 4.7 */

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

static struct {
	bool running;  /* between RUN/STEP and its answer */
	bool stepping; /* the gait */
	bool real;     /* nothing is emulated */
	bool scan, blind, trace;
	uint64_t run; /* number of this RUN/STEP */
	bool is_step;
	uint64_t until_event, until_pc, until_n, until_hits, until_thread; /* RUN */
	uint64_t work, limit;
	uint64_t count, stop_pc, stop_n, stop_hits; /* STEP */
	bool has_stop_pc;
	volatile sig_atomic_t interrupt;

	/* an instruction being executed for real */
	bool finishing;            /* one that a watchpoint stopped before it, or in its middle */
	struct emulated executing; /* what it touches, as far as one can tell */
	bool single;               /* by the trap flag */
	bool temporary;            /* by an int3 at temporary_addr, in memory now */
	uint64_t temporary_addr;
	uint8_t temporary_original;
	struct place *over; /* its breakpoint is out of memory meanwhile */
	bool returning;     /* SIGTRAP comes when the lower half is left */

	/* arrivals at hot_pc are counted by a trampoline */
	bool hot;
	uint64_t hot_pc, hot_event, hot_seen;
	uint64_t cold_pc; /* there it cannot be done */

	uint64_t looks;  /* at arrivals, since the last event */
	unsigned failed; /* looks ahead that met no breakpoint, running */
	bool hidden, remapped;
	struct watch_hit event_hit; /* made by a hypercall's event, told when it returns */
	bool ended;
	struct agent_stop stop;
	struct agent_gpr ring[TRACE];
} s;

const struct agent_stop *stepping_stop(void)
{
	return &s.stop;
}

static uint64_t oldest_traced(void)
{
	return !s.trace ? s.stop.steps : s.stop.steps < TRACE ? 0 : s.stop.steps - TRACE;
}

unsigned stepping_trace(uint64_t from, const struct agent_gpr *part[2], unsigned count[2])
{
	unsigned at = (unsigned)(from % TRACE), n;

	if (from < oldest_traced() || from >= s.stop.steps)
		return 0;
	n = s.stop.steps - from < SENT ? (unsigned)(s.stop.steps - from) : (unsigned)SENT;
	part[0] = s.ring + at;
	count[0] = n < TRACE - at ? n : TRACE - at;
	part[1] = s.ring;
	count[1] = n - count[0];
	return n;
}

bool stepping_traced_at(uint64_t pc, uint64_t before, uint64_t *step)
{
	for (*step = before < s.stop.steps ? before : s.stop.steps; *step > oldest_traced();)
		if (s.ring[--*step % TRACE].rip == pc)
			return true;
	return false;
}

static void set_tf(ucontext_t *uc, bool on)
{
	greg_t *efl = &uc->uc_mcontext.gregs[REG_EFL];

	*efl &= ~(greg_t)(EFLAGS_TF | EFLAGS_RF);
	if (on)
		*efl |= EFLAGS_TF;
}

/* Ends the execution of one instruction for real: memory and flags as they were. */
static void land(ucontext_t *uc)
{
	if (s.temporary)
		upper_write(s.temporary_addr, &s.temporary_original, 1);
	s.temporary = false;
	if (s.over)
		breakpoint_insert(s.over);
	trampoline_lower();
	s.over = NULL;
	s.single = s.finishing = false;
	if (uc)
		set_tf(uc, false);
}

static bool set_temporary(uint64_t addr)
{
	static const uint8_t int3 = 0xcc;
	const struct place *p = breakpoints_at(addr);

	if (p && p->inserted)
		return true; /* stops us as well */
	if (upper_read(addr, &s.temporary_original, 1) != 1 || upper_write(addr, &int3, 1) != 1)
		return false;
	s.temporary_addr = addr;
	s.temporary = true;
	return true;
}

/* Lets the processor execute the instruction at pc, and comes back after it. */
static void execute(ucontext_t *uc, enum emulation how, const struct emulated *did)
{
	struct place *p = breakpoints_at(uc_pc(uc));

	if (trampoline_covers(uc_pc(uc), did->len + 1u)) /* not in the copy, which nothing comes back from */
		trampoline_lift();
	if (p && p->inserted) {
		breakpoint_remove(p);
		s.over = p;
	}
	if (how == EMU_GATE) {
		replica_trap_on_return();
		s.returning = true;
		return;
	}
	s.executing = *did;
	/* after a system call its event comes first; the int3 is for one that makes none */
	if ((how == EMU_PLAIN || how == EMU_SYSCALL) && set_temporary(uc_pc(uc) + did->len))
		return;
	s.single = true;
	set_tf(uc, true);
}

static void remember(uint64_t pc, uint64_t event, uint64_t id, uint64_t hits, bool by_event, uint64_t n)
{
	uint64_t total = s.stop.scan.total + n;

	memset(&s.stop.scan, 0, sizeof(s.stop.scan));
	s.stop.scan.id = id;
	s.stop.scan.event = event;
	s.stop.scan.pc = pc;
	s.stop.scan.hits = hits;
	s.stop.scan.steps = s.stop.steps;
	s.stop.scan.total = total;
	s.stop.scan.by_event = by_event;
}

static bool until_counts(uint64_t pc, uint64_t event)
{
	return s.until_n && pc == s.until_pc && event >= s.until_event;
}

/* What the trampoline has counted until now, all but the last `but` arrivals, as if each had been met. */
static void flush_hot(uint64_t but)
{
	struct place *p = s.hot ? breakpoints_at(s.hot_pc) : NULL;
	uint64_t n = s.hot ? trampoline_count() - but - s.hot_seen : 0, hits, id;

	if (!n || !p)
		return;
	s.hot_seen += n;
	hits = breakpoints_arrived(p, s.hot_event, s.run, n);
	if (until_counts(s.hot_pc, s.hot_event))
		s.until_hits += n;
	id = breakpoints_stopping(p, NULL);
	if (id)
		remember(s.hot_pc, s.hot_event, id, hits, false, n);
}

/* Arrivals cost an int3 again. */
static void cool(void)
{
	struct place *p;

	if (!s.hot)
		return;
	flush_hot(0);
	s.hot = false;
	trampoline_disarm();
	p = breakpoints_at(s.hot_pc);
	if (p)
		breakpoint_insert(p);
}

/* uc stands at a place whose arrival has been dealt with.  There have been many, or many are asked for:
 * then a trampoline counts them, and goes on from here. */
static bool heat(ucontext_t *uc)
{
	struct place *p = breakpoints_at(uc_pc(uc));
	uint64_t n = INT64_MAX;
	bool many;

	if (!p || s.stepping || p->addr == s.cold_pc || p->hits_run != s.run || trampoline_armed())
		return false;
	many = p->hits >= HOT;
	if (until_counts(p->addr, replica_event())) {
		n = s.until_n - s.until_hits;
		many |= n >= HOT;
	}
	if (!many || replay_mark() || watch_any() || s.interrupt || !breakpoints_only_count(p, s.scan))
		return false;
	breakpoint_remove(p);
	if (emulate_at_rep_string(uc) || trampoline_arm_count(p->addr, n)) {
		s.cold_pc = p->addr;
		breakpoint_insert(p);
		return false;
	}
	s.hot = true;
	s.hot_pc = p->addr;
	s.hot_event = replica_event();
	s.hot_seen = 0;
	trampoline_resume(uc);
	return true;
}

static void disarm_mark(void)
{
	overdue_end();
	flush_hot(0);
	s.hot = false;
	trampoline_disarm();
	breakpoints_mark(0);
}

static enum verdict stop(ucontext_t *uc, enum agent_stop_reason reason, bool arrived)
{
	struct place *p;

	if (trampoline_inside(uc))
		trampoline_leave(uc);
	land(uc);
	disarm_mark();
	p = breakpoints_at(uc_pc(uc));
	/* Its int3 will not be met when we go on: this is the arrival. */
	if (p && !arrived)
		breakpoints_arrived(p, replica_event(), s.run, 1);
	if (p && p->hits_run == s.run && p->hits_event == replica_event() &&
	    (reason == AGENT_STOP_BREAK || reason == AGENT_STOP_TARGET || reason == AGENT_STOP_PC))
		s.stop.hits = p->hits;
	undo_log_end();
	breakpoints_remove();
	breakpoints_target(0);
	watch_stop();
	s.running = s.hidden = s.remapped = false;
	s.stop.reason = reason;
	s.stop.event = replica_event();
	if (s.trace)
		s.stop.traced = (uint32_t)(s.stop.steps < SENT ? s.stop.steps : SENT);
	registers_get(uc, &s.stop.gpr);
	return STOPPED;
}

static bool at_target(uint64_t pc, bool arrived)
{
	if (s.is_step)
		return s.stop.steps == s.count;
	if (replica_event() < s.until_event || (s.until_thread && s.until_thread != replica_thread()))
		return false;
	if (s.until_n == 0)
		return true;
	return arrived && pc == s.until_pc && ++s.until_hits == s.until_n;
}

static void insert_mark(const struct mark *mark)
{
	struct place *p;

	if (breakpoints_mark(mark->rip))
		rdb_fatal("too many breakpoints: none is left for a switch of threads");
	p = breakpoints_at(mark->rip);
	if (p)
		breakpoint_insert(p);
}

/* Natively it is met by a trampoline, which costs nanoseconds an arrival; by an int3 where there can be
 * none, or a breakpoint of the user's is at that very place. */
static void arm_mark(void)
{
	const struct mark *mark = replay_mark();
	bool free = mark && !s.stepping && !page_guard_any(); /* it reads the program's memory natively */

	disarm_mark();
	s.looks = 0;
	if (mark) {
		mark_learn_begin(mark);
		overdue_begin(replica_interval_ns());
	}
	if (mark && !s.stepping && !(free && trampoline_arm(mark) == 0))
		insert_mark(mark);
}

/* It is stopped here: others run, until the log comes back to it. */
static enum verdict preempted(ucontext_t *uc)
{
	disarm_mark();
	undo_log_unknown(s.stop.steps);
	if (s.trace)
		registers_get(uc, &s.ring[s.stop.steps % TRACE]);
	if (!s.stepping)
		watch_resume();
	turns_preempted(uc);
	return HANDED;
}

static bool at_mark(const ucontext_t *uc)
{
	const struct mark *mark = replay_mark();

	return mark && uc_pc(uc) == mark->rip && mark_here(mark, uc);
}

/* The trampoline's trap: all that it compares agrees. */
static enum verdict at_trampoline(ucontext_t *uc)
{
	s.looks++;
	if (at_mark(uc))
		return preempted(uc);
	if (!mark_learn(replay_mark())) {
		trampoline_resume(uc);
		return GO_ON;
	}
	trampoline_disarm();
	if (trampoline_arm(mark_learned()) == 0)
		trampoline_resume(uc);
	else
		insert_mark(replay_mark());
	return GO_ON;
}

/* A jump into the middle of its patch costs a trap: often, and it is dearer than an int3. */
static bool into_trampoline(ucontext_t *uc)
{
	if (!trampoline_fault(uc))
		return false;
	if (trampoline_faults() > FAULTS_MAX && (!s.hot || trampoline_faults() > trampoline_count() / 2)) {
		if (trampoline_inside(uc))
			trampoline_leave(uc);
		if (s.hot) {
			s.cold_pc = s.hot_pc;
			cool();
		} else {
			trampoline_disarm();
			insert_mark(replay_mark());
		}
	}
	return true;
}

/* The program stands at an instruction boundary.  `arrived`: and will not meet an int3 here, so the
 * arrival is counted now.  `hit`: what the watchpoints say about the way here. */
static enum verdict settle(ucontext_t *uc, bool arrived, const struct watch_hit *hit, bool by_event)
{
	uint64_t pc = uc_pc(uc), hits = 0, id;
	struct place *p = arrived ? breakpoints_at(pc) : NULL;
	bool full = false;

	s.looks++;
	s.work += p || (hit && hit->id) ? AGENT_WORK_STOP : 1;
	if (p || (hit && hit->id))
		flush_hot(0); /* they came before */
	if (p)
		hits = breakpoints_arrived(p, replica_event(), s.run, 1);
	if (hit && hit->id && !s.blind) {
		if (changes_wanted()) {
			full = changes_add(replica_event(), pc, by_event);
		} else if (!s.scan) {
			s.stop.id = hit->id;
			s.stop.addr = hit->addr;
			s.stop.hits = hit->hits;
			s.stop.by_event = by_event;
			return stop(uc, AGENT_STOP_WATCH, arrived);
		} else {
			remember(pc, replica_event(), hit->id, hit->hits, by_event, 1);
		}
	}
	if (s.has_stop_pc && arrived && pc == s.stop_pc && ++s.stop_hits == s.stop_n) {
		s.stop.hits = s.stop_hits;
		return stop(uc, AGENT_STOP_PC, arrived);
	}
	if (at_target(pc, arrived))
		return stop(uc, AGENT_STOP_TARGET, arrived);
	if (arrived && at_mark(uc))
		return preempted(uc);
	id = p && !s.blind ? breakpoints_stopping(p, uc) : 0;
	if (id && s.scan) {
		remember(pc, replica_event(), id, hits, false, 1);
	} else if (id) {
		s.stop.id = id;
		return stop(uc, AGENT_STOP_BREAK, arrived);
	}
	if (s.interrupt)
		return stop(uc, AGENT_STOP_INTERRUPT, arrived);
	return full || s.work > s.limit ? stop(uc, AGENT_STOP_LIMIT, arrived) : GO_ON;
}

static const struct watch_hit *look(const struct emulated *did, bool exact, struct watch_hit *hit)
{
	hit->id = 0;
	if (watch_any() && !(s.blind && s.is_step))
		watch_check(did, exact, replica_event(), s.run, hit);
	return hit;
}

/* Stepping: goes on from here until something needs the processor, or a stop. */
static enum verdict advance(ucontext_t *uc)
{
	struct emulated did;
	struct watch_hit hit;
	enum emulation how;
	enum verdict v;

	for (;;) {
		if (s.trace)
			registers_get(uc, &s.ring[s.stop.steps % TRACE]);
		undo_log_step(s.stop.steps);
		if (turns_pending()) {
			undo_log_unknown(s.stop.steps);
			return GO_ON;
		}
		how = emulate(uc, s.real, &did);
		if (how != EMU_DONE) {
			undo_log_unknown(s.stop.steps);
			execute(uc, how, &did);
			return GO_ON;
		}
		s.stop.steps++;
		v = settle(uc, true, look(&did, true, &hit), false);
		if (v != GO_ON)
			return v;
	}
}

/* Natively: past the breakpoint at pc, whose arrival has been dealt with (`here`), or on after a
 * watchpoint.  In a tight loop carrying out the few instructions to the next hit is quicker than its
 * signal; when that fails a few times running it is left alone for a while. */
static enum verdict look_ahead(ucontext_t *uc, bool here, unsigned limit)
{
	unsigned ahead = s.failed < AHEAD_FAILURES ? limit : here;
	enum verdict v = GO_ON;
	struct emulated did;
	struct watch_hit hit;
	enum emulation how;
	unsigned n;

	watch_pause(); /* or our own accesses would be taken for the program's */
	for (n = 0; n < ahead && v == GO_ON; n++) {
		struct place *p;
		bool marked;

		how = emulate(uc, s.real, &did);
		if (how != EMU_DONE) {
			if (here)
				execute(uc, how, &did);
			break;
		}
		/* with one instruction only, an int3 at the new pc is met by going on */
		p = ahead > 1 ? breakpoints_at(uc_pc(uc)) : NULL;
		here = p && p->inserted;
		marked = !s.hot && trampoline_at(uc_pc(uc)); /* we look ourselves: quicker than a signal soon */
		v = settle(uc, here || marked, look(&did, true, &hit), false);
		if (here || hit.id)
			n = s.failed = 0;
		if (v == GO_ON && here && heat(uc))
			return GO_ON;
		if (s.hot && trampoline_at(uc_pc(uc)))
			break; /* it counts by itself */
	}
	if (v == GO_ON) {
		s.failed += n == ahead;
		if (s.failed >= AHEAD_PAUSE)
			s.failed = 0;
		watch_resume();
	}
	return v;
}

static enum verdict step_over(ucontext_t *uc)
{
	if (heat(uc))
		return GO_ON;
	return look_ahead(uc, true, AHEAD);
}

/* An instruction has been executed for real. */
static enum verdict executed(ucontext_t *uc, bool arrived)
{
	const struct emulated *did = s.temporary || s.single || s.finishing ? &s.executing : NULL;
	struct watch_hit hit;
	enum verdict v;

	land(uc);
	look(did, false, &hit);
	if (s.stepping)
		s.stop.steps++;
	v = settle(uc, arrived || s.stepping, &hit, false);
	if (v != GO_ON)
		return v;
	if (s.stepping)
		return advance(uc);
	return arrived ? step_over(uc) : GO_ON;
}

/* A watchpoint's trap. */
static enum verdict watched(ucontext_t *uc)
{
	enum verdict v = executed(uc, false);
	const struct place *p = breakpoints_at(uc_pc(uc));

	/* a breakpoint here has not been met yet: its int3 comes first */
	if (v != GO_ON || (p && p->inserted))
		return v;
	return look_ahead(uc, false, AHEAD_WATCH);
}

/* An access to a guarded page, not made yet: here, with those that follow as long as there are any. */
static enum verdict guarded(ucontext_t *uc)
{
	enum verdict v = GO_ON;
	struct emulated did;
	struct watch_hit hit;
	bool here = true; /* what stands here has been dealt with: it must not be met again */

	watch_pause();
	for (unsigned n = 0; n < AHEAD_GUARD && v == GO_ON; n++) {
		const struct place *p;
		enum emulation how = emulate(uc, s.real, &did);

		if (how != EMU_DONE) {
			if (here)
				execute(uc, how, &did);
			s.finishing = here;
			break;
		}
		p = breakpoints_at(uc_pc(uc));
		here = p && p->inserted;
		if (here)
			n = 0;
		for (unsigned i = 0; i < did.naccess; i++)
			if (page_guard_touched(did.access[i].addr, did.access[i].len))
				n = 0;
		v = settle(uc, here, look(&did, true, &hit), false);
	}
	if (v == GO_ON)
		watch_resume();
	return v;
}

/* The trampoline's trap: the last arrival that is asked for. */
static enum verdict counted(ucontext_t *uc)
{
	enum verdict v;

	flush_hot(1);
	s.hot_seen++;
	cool();
	v = settle(uc, true, NULL, false);
	return v == GO_ON ? step_over(uc) : v;
}

static enum verdict event_settled(ucontext_t *uc, const struct watch_hit *hit)
{
	enum verdict v;

	if (s.stepping)
		s.stop.steps++;
	v = settle(uc, s.stepping, hit, true);
	return v == GO_ON && s.stepping ? advance(uc) : v;
}

enum verdict stepping_event(uint64_t event, ucontext_t *uc)
{
	struct watch_hit hit = {0};

	upper_changed();
	if (!s.running)
		return GO_ON;
	land(uc);
	undo_log_unknown(s.stop.steps);
	if (!s.stepping && watch_needs_stepping()) { /* the event has mapped what cannot be guarded */
		s.stepping = true;
		breakpoints_remove();
	}
	if (!s.stepping && (s.hidden || s.remapped))
		breakpoints_insert();
	s.hidden = s.remapped = false;
	arm_mark();
	if (watch_any())
		watch_check_event(event, s.run, &hit);
	if (uc)
		return event_settled(uc, &hit);
	if (!s.stepping)
		page_guard_close();
	/* no context yet: look when the lower half is left */
	if (s.stepping || hit.id || s.interrupt || (s.until_n == 0 && event >= s.until_event)) {
		s.event_hit = hit;
		s.returning = true;
		replica_trap_on_return();
	}
	return GO_ON;
}

/* In the middle of a repeated string instruction, which is no instruction boundary: lets it end
 * first.  An int3 in memory here shows that it has not begun. */
static bool finish_repeated(ucontext_t *uc)
{
	const struct place *p = breakpoints_at(uc_pc(uc));
	struct emulated did;

	if ((p && p->inserted) || !emulate_at_rep_string(uc))
		return false;
	execute(uc, emulate(uc, true, &did), &did);
	s.finishing = true; /* a breakpoint right behind it is met before we have looked */
	return true;
}

static enum verdict hardware_watch(ucontext_t *uc)
{
	if (s.temporary || s.single || s.over)
		return GO_ON; /* their trap comes next */
	return finish_repeated(uc) ? GO_ON : watched(uc);
}

enum verdict stepping_trap(siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = uc_pc(uc);
	bool carried = false;
	struct watch_hit hit;
	struct place *p;
	enum verdict v;

	if (!RDB_IS_UPPER(pc)) {
		if (s.running && s.single && replica_in_gate(pc)) {
			land(uc);
			replica_trap_on_return();
			s.returning = true;
			return GO_ON;
		}
		/* the lower half touched a watched location while it answered an event */
		return info->si_code == TRAP_PERF ? GO_ON : NOT_OURS;
	}
	if (!s.running)
		return info->si_code == TRAP_PERF ? GO_ON : NOT_OURS;
	if (hot_stubs_inside(pc)) {
		hot_stubs_leave(uc);
		pc = uc_pc(uc);
	}
	if (trampoline_armed()) {
		if (info->si_code != TRAP_PERF && trampoline_trap(uc))
			return s.hot ? counted(uc) : at_trampoline(uc);
		if (info->si_code != TRAP_PERF && into_trampoline(uc))
			return GO_ON;
		carried = info->si_code != TRAP_PERF && trampoline_stop(uc);
		if (trampoline_inside(uc))
			trampoline_leave(uc);
		pc = uc_pc(uc);
	}
	if (s.returning) {
		s.returning = false;
		land(uc);
		hit = s.event_hit;
		s.event_hit.id = 0;
		return event_settled(uc, &hit);
	}
	if (info->si_code == TRAP_PERF)
		return s.stepping ? GO_ON : hardware_watch(uc);
	if (info->si_code == SI_KERNEL) { /* int3; the processor stands behind it */
		pc -= !carried;
		p = breakpoints_at(pc);
		if (!carried && !(s.temporary && s.temporary_addr == pc) && !(p && p->inserted))
			return NOT_OURS;
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
		if (s.temporary && s.temporary_addr == pc)
			return executed(uc, false);
		if (s.over || s.single || s.stepping || s.finishing)
			return executed(uc, true);
		v = settle(uc, true, NULL, false);
		return v == GO_ON ? step_over(uc) : v;
	}
	if (!s.single)
		return NOT_OURS;
	return executed(uc, false);
}

enum verdict stepping_interrupt(ucontext_t *uc)
{
	if (!s.running)
		return GO_ON;
	s.interrupt = 1;
	/* in the lower half, or in the middle of one instruction: at the next boundary */
	if (!RDB_IS_UPPER(uc_pc(uc)) || s.temporary || s.single || s.over || s.returning)
		return GO_ON;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	hot_stubs_leave(uc);
	return finish_repeated(uc) ? GO_ON : stop(uc, AGENT_STOP_INTERRUPT, false);
}

bool stepping_missed(ucontext_t *uc, uint64_t *spent_ns)
{
	bool slowly = s.stepping || s.looks > LOOKS_FEW || page_guard_any() || !trampoline_armed();

	if (!s.running || !RDB_IS_UPPER(uc_pc(uc)) || s.temporary || s.single || s.over || s.returning || s.finishing ||
	    !overdue(slowly))
		return false;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	hot_stubs_leave(uc);
	*spent_ns = overdue_spent_ns();
	return true;
}

enum verdict stepping_guarded(const siginfo_t *info, ucontext_t *uc)
{
	bool write = uc->uc_mcontext.gregs[REG_ERR] & FAULT_WRITE;

	if (!s.running || info->si_signo != SIGSEGV || info->si_code != SEGV_ACCERR ||
	    !page_guard_lift((uint64_t)info->si_addr, write))
		return NOT_OURS;
	if (!RDB_IS_UPPER(uc_pc(uc))) {
		/* the last instructions of the way out do not pass here again: close it behind them */
		if (replica_leaving(uc))
			s.returning = true;
		return GO_ON;
	}
	if (s.temporary || s.single || s.over || s.finishing || s.returning)
		return GO_ON; /* their trap comes next */
	return guarded(uc);
}

void stepping_leaves(void)
{
	if (s.running && !s.stepping && !(s.temporary || s.single || s.over || s.finishing || s.returning))
		page_guard_close();
}

bool stepping_displaced(ucontext_t *uc)
{
	if (!trampoline_armed())
		return false;
	if (into_trampoline(uc))
		return true;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	return false;
}

enum verdict stepping_fault(int signal, uint64_t addr, ucontext_t *uc)
{
	s.stop.signal = signal;
	s.stop.addr = addr;
	return stop(uc, AGENT_STOP_FAULT, true);
}

enum verdict stepping_end(ucontext_t *uc, enum agent_stop_reason reason, uint32_t kind, int32_t value)
{
	s.ended = true;
	s.stop.end_kind = kind;
	s.stop.end_value = value;
	return stop(uc, reason, true);
}

void stepping_remapped(uint64_t start, uint64_t end)
{
	breakpoints_forget(start, end);
	watch_remapped(start, end);
	s.remapped = true;
}

void stepping_asked(void)
{
	cool();
	page_guard_open();
}

void stepping_switched(void)
{
	s.returning = false;
	s.event_hit.id = 0;
}

void stepping_hide(void)
{
	land(NULL);
	breakpoints_remove();
	s.hidden = true;
}

static void begin(bool is_step)
{
	enum agent_stop_reason reason = s.stop.reason;
	uint32_t kind = s.stop.end_kind;
	int32_t value = s.stop.end_value;

	memset(&s.stop, 0, sizeof(s.stop));
	if (s.ended) {
		s.stop.reason = reason;
		s.stop.end_kind = kind;
		s.stop.end_value = value;
	}
	s.run++;
	s.is_step = is_step;
	s.running = true;
	s.returning = s.has_stop_pc = s.trace = s.blind = s.real = false;
	s.interrupt = 0;
	s.event_hit.id = 0;
	s.until_event = AGENT_FOREVER;
	s.cold_pc = s.work = 0;
	s.limit = AGENT_FOREVER;
	changes_end();
	s.until_n = s.until_hits = s.stop_hits = s.until_thread = 0;
	upper_changed(); /* the server may have written to memory */
}

static enum verdict go(ucontext_t *uc)
{
	struct place *p;

	if (s.ended)
		return stop(uc, s.stop.reason, true);
	watch_start(!s.stepping);
	arm_mark();
	if (at_mark(uc) && !turns_pending())
		return preempted(uc);
	if (s.stepping)
		return advance(uc);
	breakpoints_insert();
	if (turns_pending())
		return GO_ON;
	p = breakpoints_at(uc_pc(uc));
	return p && p->inserted ? step_over(uc) : GO_ON;
}

enum verdict stepping_run(ucontext_t *uc, const struct agent_request *rq)
{
	begin(false);
	undo_log_begin(false);
	s.until_event = rq->a;
	if (rq->d & AGENT_RUN_CHANGES) {
		if (changes_begin(rq->b, rq->c, rq->e))
			s.limit = 0; /* at once */
	} else {
		s.until_pc = rq->b;
		s.until_n = rq->c;
		if (rq->d & AGENT_RUN_LIMIT)
			s.limit = rq->e;
		else
			s.until_thread = rq->e;
	}
	s.scan = rq->d & AGENT_RUN_SCAN;
	s.stepping = watch_needs_stepping();
	if (!s.ended && s.until_n == 0 && replica_event() >= s.until_event &&
	    (!s.until_thread || s.until_thread == replica_thread()))
		return stop(uc, AGENT_STOP_TARGET, true);
	if (s.until_n)
		breakpoints_target(s.until_pc);
	return go(uc);
}

enum verdict stepping_step(ucontext_t *uc, const struct agent_request *rq)
{
	begin(true);
	s.count = rq->a;
	s.trace = rq->b & AGENT_STEP_TRACE;
	s.has_stop_pc = rq->b & AGENT_STEP_PC;
	s.blind = rq->b & AGENT_STEP_BLIND;
	s.scan = rq->b & AGENT_STEP_SCAN;
	s.real = rq->b & AGENT_STEP_REAL;
	s.stop_pc = rq->c;
	s.stop_n = rq->d;
	undo_log_begin(s.trace);
	s.stepping = true;
	if (!s.ended && s.count == 0)
		return stop(uc, AGENT_STOP_TARGET, true);
	return go(uc);
}

void stepping_free_run(void)
{
	begin(false);
	arm_mark();
}

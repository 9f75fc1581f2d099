#include "arch/registers.h"
#include "seek/stepping_state.h"
#include "crossing/boundary.h"
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "seek/changes.h"
#include "seek/executable.h"
#include "text/hot_stubs.h"
#include "interface/layout.h"
#include "base/lower.h"
#include "marks/mark.h"
#include "space/aliases.h"
#include "seek/page_guard.h"
#include "seek/lookout.h"
#include "seek/overdue.h"
#include "text/registers.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "task/thread.h"
#include "seek/trampoline.h"
#include "seek/text_guard.h"
#include "seek/undo_log.h"
#include "space/patches.h"
#include "space/upper_memory.h"

#define SENT ((AGENT_PACKET - sizeof(struct agent_reply) - sizeof(struct agent_stop)) / sizeof(struct agent_gpr))

#define LOOKS_FEW 10000 /* looks at arrivals; so few take no noticeable time */

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

struct stepping stepping;

const struct agent_stop *stepping_stop(void)
{
	return &stepping.stop;
}

static uint64_t oldest_traced(void)
{
	return !stepping.trace ? stepping.stop.steps : stepping.stop.steps < TRACE ? 0 : stepping.stop.steps - TRACE;
}

unsigned stepping_trace(uint64_t from, const struct agent_gpr *part[2], unsigned count[2])
{
	unsigned at = (unsigned)(from % TRACE), n;

	if (from < oldest_traced() || from >= stepping.stop.steps)
		return 0;
	n = stepping.stop.steps - from < SENT ? (unsigned)(stepping.stop.steps - from) : (unsigned)SENT;
	part[0] = stepping.ring + at;
	count[0] = n < TRACE - at ? n : TRACE - at;
	part[1] = stepping.ring;
	count[1] = n - count[0];
	return n;
}

bool stepping_traced_at(uint64_t first, uint64_t end, bool inside, uint64_t before, uint64_t *step)
{
	for (*step = before < stepping.stop.steps ? before : stepping.stop.steps; *step > oldest_traced();)
		if ((agent_gpr_pc(&stepping.ring[--*step % TRACE]) - first < end - first) == inside)
			return true;
	return false;
}

/* Ends the native execution of one instruction: restores memory and the trap flag. */
void stepping_land(ucontext_t *uc)
{
	if (stepping.temporary)
		upper_write(stepping.temporary_addr, &stepping.temporary_original, 1);
	stepping.temporary = false;
	if (stepping.over)
		breakpoint_insert(stepping.over);
	trampoline_lower();
	stepping.over = NULL;
	stepping.single = stepping.finishing = false;
	if (uc)
		uc_step(uc, false);
}

static bool set_temporary(uint64_t addr)
{
	static const uint8_t breakpoint = BREAKPOINT;
	const struct place *p = breakpoints_at(addr);

	if (p && p->inserted)
		return true; /* stops us as well */
	if (upper_read(addr, &stepping.temporary_original, 1) != 1 || upper_write(addr, &breakpoint, 1) != 1)
		return false;
	stepping.temporary_addr = addr;
	stepping.temporary = true;
	return true;
}

/* Lets the processor execute the instruction at pc, and comes back after it. */
void stepping_execute(ucontext_t *uc, enum emulation how, const struct emulated *did)
{
	struct place *p = breakpoints_at(uc_pc(uc));

	if (patch_in(PATCH_TRAMPOLINE, uc_pc(uc), did->len + 1u)) /* in place: nothing stops the trampoline's copy */
		trampoline_lift();
	if (p && p->inserted) {
		breakpoint_remove(p);
		stepping.over = p;
	}
	if (how == EMU_GATE) {
		boundary_trap_on_return();
		stepping.returning = true;
		return;
	}
	if (how == EMU_PLAIN && uc_pc(uc) == emulate_counted.pc)
		++*emulate_counted.left;
	stepping.executing = *did;
	/* A system call's event comes before the int3, which is for a call without event.  Text that the program may
	 * write to gets no int3: this instruction may write there. */
	if ((how == EMU_SYSCALL ||
	     (how == EMU_PLAIN && (emulate_at_rep_string(uc) || !text_guard_wanted(uc_pc(uc) + did->len, 1)))) &&
	    set_temporary(uc_pc(uc) + did->len))
		return;
	stepping.single = true;
	uc_step(uc, true);
}

void stepping_remember(uint64_t pc, uint64_t event, uint64_t id, uint64_t hits, bool by_event, uint64_t n)
{
	uint64_t total = stepping.stop.scan.total + n;

	memset(&stepping.stop.scan, 0, sizeof(stepping.stop.scan));
	stepping.stop.scan.id = id;
	stepping.stop.scan.event = event;
	stepping.stop.scan.pc = pc;
	stepping.stop.scan.hits = hits;
	stepping.stop.scan.steps = stepping.stop.steps;
	stepping.stop.scan.total = total;
	stepping.stop.scan.by_event = by_event;
}

enum verdict stepping_stopped(ucontext_t *uc, enum agent_stop_reason reason, bool arrived)
{
	struct place *p;

	if (trampoline_inside(uc))
		trampoline_leave(uc);
	stepping_land(uc);
	stepping_disarm();
	p = breakpoints_at(uc_pc(uc));
	/* Going on does not meet the int3 here: count the arrival now. */
	if (p && !arrived)
		breakpoints_arrived(p, replica_event(), stepping.run, 1);
	if (p && p->hits_run == stepping.run && p->hits_event == replica_event() &&
	    (reason == AGENT_STOP_BREAK || reason == AGENT_STOP_TARGET || reason == AGENT_STOP_PC))
		stepping.stop.hits = p->hits;
	undo_log_end();
	breakpoints_remove();
	breakpoints_target(0);
	text_guard_forget();
	watch_stop();
	stepping.running = stepping.remapped = stepping.text_out = false;
	stepping.stop.reason = reason;
	stepping.stop.event = replica_event();
	if (stepping.trace)
		stepping.stop.traced = (uint32_t)(stepping.stop.steps < SENT ? stepping.stop.steps : SENT);
	registers_get(uc, &stepping.stop.gpr);
	return STOPPED;
}

static enum verdict event_settled(ucontext_t *uc, const struct watch_hit *hit)
{
	enum verdict v;

	if (stepping.stepping)
		stepping.stop.steps++;
	if (lookout_wanted()) {
		enum lookout look = lookout_event(replica_event(), uc);
		if (look != LOOKOUT_SAME)
			return stepping_stopped(uc, look == LOOKOUT_OTHER ? AGENT_STOP_OTHER : AGENT_STOP_LIMIT,
						stepping.stepping);
	}
	v = stepping_settle(uc, stepping.stepping, hit, true);
	return v == GO_ON && stepping.stepping ? stepping_advance(uc) : v;
}

/* Checks anew which text the program may write to. */
static void look_at_text_again(uint64_t start, uint64_t end)
{
	breakpoints_lift(start, end);
	stepping.text_out = true;
}

enum verdict stepping_event(uint64_t event, ucontext_t *uc)
{
	struct watch_hit hit = {0};

	upper_changed();
	if (!stepping.running)
		return GO_ON;
	stepping_land(uc);
	undo_log_unknown(stepping.stop.steps);
	if (!stepping.stepping && watch_needs_stepping()) { /* the event has mapped what cannot be guarded */
		stepping.stepping = true;
		breakpoints_remove();
	}
	if (!stepping.stepping && stepping.remapped)
		breakpoints_insert();
	stepping.remapped = false;
	if (!stepping.stepping && stepping.aliases != aliases_generation)
		look_at_text_again(0, UINT64_MAX);
	stepping.aliases = aliases_generation;
	stepping_arm_mark();
	if (watch_any())
		watch_check_event(event, stepping.run, &hit);
	if (uc)
		return event_settled(uc, &hit);
	if (!stepping.stepping) {
		page_guard_close();
		stepping_text_in();
	}
	/* no context yet: look when the lower half is left */
	if (stepping.stepping || hit.id || stepping.interrupt || lookout_wanted() ||
	    (stepping.until_n == 0 && event >= stepping.until_event)) {
		stepping.event_hit = hit;
		stepping.returning = true;
		boundary_trap_on_return();
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
	stepping_execute(uc, emulate(uc, true, &did), &did);
	stepping.finishing = true; /* a breakpoint right behind it is met before we have looked */
	return true;
}

static enum verdict hardware_watch(ucontext_t *uc)
{
	if (stepping.temporary || stepping.single || stepping.over)
		return GO_ON; /* their trap comes next */
	return finish_repeated(uc) ? GO_ON : stepping_watched(uc);
}

/* Under a hypervisor the processor's reason (DR6) may be lost between the trap and the kernel's look at it: then the
 * kernel reports INT1 (arch/x86/kernel/traps.c, exc_debug_user). */
static bool is_watchpoints(const siginfo_t *info, uint64_t pc)
{
	const uint8_t int1 = 0xf1;
	uint8_t before = 0;
	if (info->si_code != TRAP_BRKPT)
		return info->si_code == TRAP_PERF;
	return watch_any() && !stepping.stepping && !stepping.single &&
	       !(upper_read(pc - 1, &before, 1) == 1 && before == int1);
}

enum verdict stepping_trap(siginfo_t *info, ucontext_t *uc)
{
	uint64_t pc = uc_pc(uc);
	const bool watchpoints = is_watchpoints(info, pc);
	bool carried = false;
	struct watch_hit hit;
	struct place *p;
	enum verdict v;

	if (!boundary_runs_upper(uc)) {
		if (stepping.running && stepping.single && boundary_in_gate(pc)) {
			stepping_land(uc);
			boundary_trap_on_return();
			stepping.returning = true;
			return GO_ON;
		}
		/* the lower half touched a watched location while it answered an event */
		return watchpoints ? GO_ON : NOT_OURS;
	}
	if (!stepping.running)
		return watchpoints ? GO_ON : NOT_OURS;
	if (hot_stubs_inside(pc)) {
		hot_stubs_leave(uc);
		pc = uc_pc(uc);
	}
	if (stepping.returning) { /* before any look at the place, which may be in the midst of a patch */
		stepping.returning = false;
		if (trampoline_inside(uc))
			trampoline_leave(uc);
		stepping_land(uc);
		hit = stepping.event_hit;
		stepping.event_hit.id = 0;
		return event_settled(uc, &hit);
	}
	if (trampoline_armed()) {
		if (!watchpoints && trampoline_trap(uc))
			return stepping.hot ? stepping_counted(uc) : stepping_at_trampoline(uc);
		if (!watchpoints && stepping_into_trampoline(uc))
			return GO_ON;
		carried = !watchpoints && trampoline_stop(uc);
		if (trampoline_inside(uc))
			trampoline_leave(uc);
		pc = uc_pc(uc);
	}
	if (watchpoints) {
		watch_trapped(info->si_code == TRAP_PERF);
		return stepping.stepping ? GO_ON : hardware_watch(uc);
	}
	if (info->si_code == SI_KERNEL) { /* int3; the processor stands behind it */
		pc -= !carried;
		p = breakpoints_at(pc);
		if (!carried && !(stepping.temporary && stepping.temporary_addr == pc) && !(p && p->inserted))
			return NOT_OURS;
		UC_PC(uc) = pc;
		if (stepping.temporary && stepping.temporary_addr == pc)
			return stepping_executed(uc, false);
		if (stepping.over || stepping.single || stepping.stepping || stepping.finishing)
			return stepping_executed(uc, true);
		v = stepping_settle(uc, true, NULL, false);
		return v == GO_ON ? stepping_over(uc) : v;
	}
	if (!stepping.single)
		return NOT_OURS;
	return stepping_executed(uc, false);
}

enum verdict stepping_interrupt(ucontext_t *uc)
{
	if (!stepping.running)
		return GO_ON;
	stepping.interrupt = 1;
	/* in the lower half, or in the middle of one instruction: at the next boundary */
	if (!RDB_RUNS_UPPER(uc_pc(uc)) || stepping.temporary || stepping.single || stepping.over || stepping.returning)
		return GO_ON;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	hot_stubs_leave(uc);
	return finish_repeated(uc) ? GO_ON : stepping_stopped(uc, AGENT_STOP_INTERRUPT, false);
}

bool stepping_missed(ucontext_t *uc, uint64_t *spent_ns)
{
	bool slowly = stepping.stepping || stepping.looks > LOOKS_FEW || page_guard_any() || !trampoline_armed();

	if (!stepping.running || !RDB_RUNS_UPPER(uc_pc(uc)) || stepping.temporary || stepping.single || stepping.over ||
	    stepping.returning || stepping.finishing || !overdue(slowly))
		return false;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	hot_stubs_leave(uc);
	*spent_ns = overdue_spent_ns();
	return true;
}

/* No int3 is met where the program cannot fetch an instruction: the fault is the arrival.  It has been counted if the
 * fault comes when we let the processor try the instruction. */
enum verdict stepping_unfetched(const siginfo_t *info, ucontext_t *uc)
{
	const uint64_t pc = uc_pc(uc);

	if (!stepping.running || (uint64_t)info->si_addr != pc || !boundary_runs_upper(uc) || stepping.temporary ||
	    stepping.single || stepping.over || stepping.finishing || stepping.returning || executable(pc))
		return NOT_OURS;
	stepping_text_out(uc);
	return stepping_settle(uc, true, NULL, false) == STOPPED ? STOPPED : NOT_OURS;
}

static bool lift(ucontext_t *uc, uint64_t addr, bool write)
{
	bool text = text_guard_any() && (write ? text_guard_touched(addr, 1) : text_guard_hides(addr, 1));

	if (text || page_guard_any())
		stepping_text_out(uc); /* first: both guards may hold the same page */
	return page_guard_lift(addr, write) || text;
}

static bool refused(uint64_t addr, bool write)
{
	return lift(NULL, addr, write);
}

enum verdict stepping_guarded(const siginfo_t *info, ucontext_t *uc)
{
	bool write = uc_fault_wrote(uc);

	if (!stepping.running || info->si_signo != SIGSEGV || info->si_code != SEGV_ACCERR ||
	    !lift(uc, (uint64_t)info->si_addr, write))
		return NOT_OURS;
	if (!RDB_RUNS_UPPER(uc_pc(uc))) {
		/* the last instructions of the exit path do not come here again: close the page after them */
		if (boundary_leaving(uc))
			stepping.returning = true;
		return GO_ON;
	}
	if (stepping.temporary || stepping.single || stepping.over || stepping.finishing || stepping.returning)
		return GO_ON; /* their trap comes next */
	return stepping_at_guarded(uc);
}

static void fault_is(int signal, const siginfo_t *info)
{
	stepping.stop.signal = signal;
	stepping.stop.addr = (uint64_t)info->si_addr;
	stepping.stop.end_value = info->si_code;
}

/* An int3 has been executed already: SIGTRAP does not come here. */
enum verdict stepping_raises(int sig, const siginfo_t *info, ucontext_t *uc)
{
	if (!stepping.running || !stepping.raises || sig == SIGTRAP)
		return NOT_OURS;
	if (stepping.raised_event != replica_event()) {
		stepping.raised_event = replica_event();
		stepping.raised = 0;
	}
	if (stepping.passed_pc == uc_pc(uc)) {
		stepping.passed_pc = 0;
		return NOT_OURS;
	}
	stepping.raised++;
	if (!(stepping.raises >> sig & 1))
		return NOT_OURS;
	if (stepping.scan) {
		stepping_flush_hot(0);
		stepping_remember(uc_pc(uc), replica_event(), AGENT_RAISED_ID + (uint64_t)sig, stepping.raised, false,
				  1);
		return NOT_OURS;
	}
	fault_is(sig, info);
	stepping.stop.hits = stepping.raised;
	return stepping_stopped(uc, AGENT_STOP_RAISED, true);
}

/* The instruction has ended by its fault: an int3 behind it will not be met.  No event has stored the frame. */
enum verdict stepping_handled(ucontext_t *uc)
{
	return stepping.running ? stepping_raised(uc) : GO_ON;
}

void stepping_leaves(void)
{
	if (stepping.running && !stepping.stepping &&
	    !(stepping.temporary || stepping.single || stepping.over || stepping.finishing || stepping.returning)) {
		page_guard_close();
		stepping_text_in();
	}
}

bool stepping_displaced(ucontext_t *uc)
{
	if (!trampoline_armed())
		return false;
	if (stepping_into_trampoline(uc))
		return true;
	if (trampoline_inside(uc))
		trampoline_leave(uc);
	return false;
}

enum verdict stepping_fault(int signal, const siginfo_t *info, ucontext_t *uc)
{
	fault_is(signal, info);
	return stepping_stopped(uc, AGENT_STOP_FAULT, true);
}

enum verdict stepping_end(ucontext_t *uc, enum agent_stop_reason reason, uint32_t kind, int32_t value)
{
	stepping.ended = true;
	stepping.stop.end_kind = kind;
	stepping.stop.end_value = value;
	return stepping_stopped(uc, reason, true);
}

void stepping_remapped(uint64_t start, uint64_t end)
{
	executable_changed(start, end);
	breakpoints_forget(start, end);
	watch_remapped(start, end);
	stepping.remapped = true;
}

void stepping_asked(void)
{
	stepping_cool();
	stepping_text_out(NULL);
	text_guard_forget();
	page_guard_open();
}

void stepping_reprotected(uint64_t start, uint64_t end)
{
	executable_changed(start, end);
	watch_remapped(start, end);
	if (stepping.running && !stepping.stepping)
		look_at_text_again(start, end);
}

void stepping_switched(void)
{
	stepping.returning = false;
	stepping.event_hit.id = 0;
}

/* Drops an interrupt (SIGUSR1) meant for the motion before.  It may be pending since we stopped in its handler. */
static void drop_interrupt(void)
{
	const uint64_t interrupt = 1ul << (SIGUSR1 - 1);
	const struct timespec at_once = {0};

	raw_syscall(SYS_rt_sigtimedwait, (long)&interrupt, 0, (long)&at_once, sizeof(interrupt), 0, 0);
}

static void begin(bool is_step, ucontext_t *uc, uint64_t flags)
{
	enum agent_stop_reason reason = stepping.stop.reason;
	uint32_t kind = stepping.stop.end_kind;
	int32_t value = stepping.stop.end_value;

	memset(&stepping.stop, 0, sizeof(stepping.stop));
	if (stepping.ended) {
		stepping.stop.reason = reason;
		stepping.stop.end_kind = kind;
		stepping.stop.end_value = value;
	}
	stepping.run++;
	stepping.is_step = is_step;
	stepping.running = true;
	stepping.returning = stepping.has_stop_pc = stepping.inside = stepping.trace = stepping.blind = stepping.real =
		false;
	drop_interrupt();
	stepping.interrupt = 0;
	stepping.event_hit.id = 0;
	stepping.raises = (uint32_t)(flags >> AGENT_RAISES);
	stepping.passed_pc = flags & AGENT_PASS ? uc_pc(uc) : 0;
	stepping.raised = 0;
	stepping.raised_event = replica_event();
	stepping.until_event = AGENT_FOREVER;
	stepping.cold_pc = stepping.work = 0;
	stepping.limit = AGENT_FOREVER;
	stepping.aliases = aliases_generation;
	upper_refused = refused;
	changes_end();
	lookout_end();
	stepping.until_n = stepping.until_hits = stepping.stop_hits = stepping.until_thread = 0;
	upper_changed(); /* the server may have written to memory */
}

static enum verdict go(ucontext_t *uc)
{
	struct place *p;

	if (stepping.ended)
		return stepping_stopped(uc, stepping.stop.reason, true);
	watch_start(!stepping.stepping);
	stepping_arm_mark();
	if (!stepping.stepping)
		breakpoints_insert(); /* also for the threads that run if this one is preempted here */
	if (stepping_at_mark(uc) && !turns_pending())
		return stepping_preempted(uc);
	if (stepping.stepping)
		return stepping_advance(uc);
	if (turns_pending())
		return GO_ON;
	p = breakpoints_at(uc_pc(uc));
	return (p && p->inserted) || !executable(uc_pc(uc)) ? stepping_over(uc) : GO_ON;
}

enum verdict stepping_run(ucontext_t *uc, const struct agent_request *rq)
{
	begin(false, uc, rq->d);
	undo_log_begin(false);
	stepping.until_event = rq->a;
	if (rq->d & AGENT_RUN_CHANGES) {
		if (changes_begin(rq->b, rq->c, rq->e))
			stepping.limit = 0; /* at once */
	} else if (rq->d & AGENT_RUN_LOOKOUT) {
		lookout_begin(replica_event(), rq->b);
	} else {
		stepping.until_pc = rq->b;
		stepping.until_n = rq->c;
		if (rq->d & AGENT_RUN_LIMIT)
			stepping.limit = rq->e;
		else
			stepping.until_thread = rq->e;
	}
	stepping.scan = rq->d & AGENT_RUN_SCAN;
	stepping.stepping = watch_needs_stepping();
	if (!stepping.ended && stepping.until_n == 0 && replica_event() >= stepping.until_event &&
	    (!stepping.until_thread || stepping.until_thread == replica_thread()))
		return stepping_stopped(uc, AGENT_STOP_TARGET, true);
	if (stepping.until_n)
		breakpoints_target(stepping.until_pc);
	return go(uc);
}

enum verdict stepping_step(ucontext_t *uc, const struct agent_request *rq)
{
	begin(true, uc, rq->b);
	stepping.count = rq->a;
	stepping.trace = rq->b & AGENT_STEP_TRACE;
	stepping.has_stop_pc = rq->b & AGENT_STEP_PC;
	stepping.inside = rq->b & AGENT_STEP_INSIDE;
	stepping.began_event = replica_event();
	stepping.blind = rq->b & AGENT_STEP_BLIND;
	stepping.scan = rq->b & AGENT_STEP_SCAN;
	stepping.real = rq->b & AGENT_STEP_REAL;
	stepping.stop_pc = rq->c;
	stepping.stop_n = rq->d;
	undo_log_begin(stepping.trace);
	stepping.stepping = true;
	if (!stepping.ended && stepping.count == 0)
		return stepping_stopped(uc, AGENT_STOP_TARGET, true);
	return go(uc);
}

void stepping_free_run(void)
{
	begin(false, NULL, 0);
	stepping_arm_mark();
}

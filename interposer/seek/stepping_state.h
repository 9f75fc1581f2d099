/* What the parts of the agent's stepping share: the current request and its progress (stepping.c); carrying
 * instructions out (stepping_walk.c); counting arrivals natively (stepping_native.c). */
#pragma once
#include <signal.h>
#include "interface/agent.h"
#include "seek/breakpoints.h"
#include "seek/stepping.h"
#include "seek/watch.h"
#include "text/emulate.h"

#define TRACE AGENT_TRACED

extern struct stepping {
	bool running;  /* between RUN/STEP and its answer */
	bool stepping; /* instruction by instruction, not natively */
	bool real;     /* nothing is emulated */
	bool scan, blind, trace;
	uint64_t run; /* number of this RUN/STEP */
	bool is_step;
	uint64_t until_event, until_pc, until_n, until_hits, until_thread; /* RUN */
	uint64_t work, limit;
	uint64_t count, stop_pc, stop_n, stop_hits; /* STEP */
	bool has_stop_pc, inside;
	uint64_t began_event;
	volatile sig_atomic_t interrupt;

	uint32_t raises;               /* bit n: stop at faults of signal n that have a handler; 0: at none */
	uint64_t passed_pc;            /* the fault with which the motion begins, which is not looked at */
	uint64_t raised, raised_event; /* faults since the later of that event and the start of this RUN/STEP */

	/* an instruction being executed for real */
	bool finishing;            /* it was interrupted by a watchpoint before it or in its middle */
	struct emulated executing; /* its accesses, as far as they are known */
	bool single;               /* by the trap flag */
	bool temporary;            /* by an int3 at temporary_addr, in memory now */
	uint64_t temporary_addr;
	uint8_t temporary_original;
	struct place *over; /* its breakpoint is out of memory meanwhile */
	bool returning;     /* SIGTRAP comes when the lower half is left */

	/* arrivals at hot_pc are counted by a trampoline */
	bool hot;
	uint64_t hot_pc, hot_event, hot_seen;
	uint64_t cold_pc; /* a trampoline is impossible there */

	/* text that the program may write to */
	bool text_out;    /* our patches in it are out for the moment */
	uint64_t mark_pc; /* of the mark that a trampoline looks for, or will once its text is there; 0: none */
	unsigned aliases; /* aliases_generation at the last event */

	uint64_t looks;  /* at arrivals, since the last event */
	unsigned failed; /* looks ahead in a row that met no breakpoint */
	bool remapped;
	struct watch_hit event_hit; /* by an event without a context; reported when the lower half is left */
	bool ended;
	struct agent_stop stop;
	struct agent_gpr ring[TRACE];
} stepping;

/* stepping.c */

void stepping_land(ucontext_t *uc);
void stepping_execute(ucontext_t *uc, enum emulation how, const struct emulated *did);
void stepping_remember(uint64_t pc, uint64_t event, uint64_t id, uint64_t hits, bool by_event, uint64_t n);
enum verdict stepping_stopped(ucontext_t *uc, enum agent_stop_reason reason, bool arrived);

/* stepping_native.c */

void stepping_flush_hot(uint64_t but);
void stepping_cool(void);
bool stepping_heat(ucontext_t *uc);
void stepping_disarm(void);
void stepping_arm_mark(void);
void stepping_text_out(ucontext_t *uc);
void stepping_text_in(void);
enum verdict stepping_preempted(ucontext_t *uc);
bool stepping_at_mark(ucontext_t *uc);
enum verdict stepping_at_trampoline(ucontext_t *uc);
bool stepping_into_trampoline(ucontext_t *uc);

/* stepping_walk.c */

enum verdict stepping_settle(ucontext_t *uc, bool arrived, const struct watch_hit *hit, bool by_event);
enum verdict stepping_advance(ucontext_t *uc);
enum verdict stepping_over(ucontext_t *uc);
enum verdict stepping_executed(ucontext_t *uc, bool arrived);
enum verdict stepping_raised(ucontext_t *uc);
enum verdict stepping_watched(ucontext_t *uc);
enum verdict stepping_at_guarded(ucontext_t *uc);
enum verdict stepping_counted(ucontext_t *uc);

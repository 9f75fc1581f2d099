/* Moving the stopped replica forward, and deciding at every instruction, event and trap whether it stops there.
 *
 * Two ways..  Natively: the program runs at full speed between int3s, hardware watchpoints and events.  Stepping (STEP,
 * and RUN where a watchpoint needs it): instruction by instruction; most are carried out here (emulate.h), the others
 * for real with an int3 behind them or, where the next address is unknown, with the trap flag. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>
#include "interface/agent.h"

enum verdict {
	GO_ON,    /* return to the program */
	STOPPED,  /* stepping_stop() says why */
	NOT_OURS, /* a SIGTRAP of the program's own */
	HANDED,   /* other threads have run since: return to the program, uc is up to date */
};

/* RUN and STEP, with the request's arguments. */
enum verdict stepping_run(ucontext_t *uc, const struct agent_request *rq);
enum verdict stepping_step(ucontext_t *uc, const struct agent_request *rq);

/* The calls of replica.h. */
enum verdict stepping_trap(siginfo_t *info, ucontext_t *uc);
enum verdict stepping_event(uint64_t event, ucontext_t *uc);
enum verdict stepping_interrupt(ucontext_t *uc);
/* True: the log's mark should have been met long ago.  uc stands at an instruction of the program. */
bool stepping_missed(ucontext_t *uc, uint64_t *spent_ns);
/* A fault.  NOT_OURS unless its page is guarded. */
enum verdict stepping_guarded(const siginfo_t *info, ucontext_t *uc);
/* A fault has been delivered to the program's handler. */
enum verdict stepping_handled(ucontext_t *uc);
enum verdict stepping_raises(int sig, const siginfo_t *info, ucontext_t *uc);
/* A fault of an instruction fetch. */
enum verdict stepping_unfetched(const siginfo_t *info, ucontext_t *uc);
/* A handler is about to return to the program. */
void stepping_leaves(void);
/* A fault.  True: it came from a jump into the middle of a trampoline's patch.  False: if uc stood in the trampoline,
 * it is made the program's own. */
bool stepping_displaced(ucontext_t *uc);
enum verdict stepping_fault(int signal, const siginfo_t *info, ucontext_t *uc);
/* The program has ended or diverged and cannot go on from here. */
enum verdict stepping_end(ucontext_t *uc, enum agent_stop_reason reason, uint32_t kind, int32_t value);
/* Mappings in [start, end) were replaced by the present event (mmap, munmap, mremap):
 * breakpoints there are put in anew.  Call it before agent_event(). */
void stepping_remapped(uint64_t start, uint64_t end);
/* The same where the contents stayed: mprotect; or where nothing was before. */
void stepping_reprotected(uint64_t start, uint64_t end);
/* Another thread goes on: drops what was requested for the thread before. */
void stepping_switched(void);
/* An event begins: takes out what the program must not see mapped, patched or protected. */
void stepping_asked(void);
/* Without a server: stops nowhere but at the marks of the log. */
void stepping_free_run(void);

const struct agent_stop *stepping_stop(void);
/* After a traced STEP: the registers before step `from` and those after it, as many as fit a packet, oldest
 * first, in at most two runs (a ring).  0: they are not kept. */
unsigned stepping_trace(uint64_t from, const struct agent_gpr *part[2], unsigned count[2]);
/* The newest traced step before step `before` that was made inside or outside of these addresses. */
bool stepping_traced_at(uint64_t first, uint64_t end, bool inside, uint64_t before, uint64_t *step);

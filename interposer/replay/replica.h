/* The seam between the boundary and the agent, in replica mode only (rdb-exec --replay --agent-fd).
 *
 * All functions run in the lower half (lower thread pointer), on the alternate signal stack or the
 * hypercall stack, single-threaded.  `uc` is the upper context that the handler will return to; the
 * agent may change it.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* ---- offered by the agent (agent.c) to the boundary ---- */
int agent_init(int socket_fd);
/* The image is restored, uc is the upper context at `event`: stop for the first time. */
void agent_started(ucontext_t *uc);
/* Event `event` has been answered and its effects applied, by a system call (uc != NULL: the
 * context after it, may stop right here) or a hypercall or upcall (uc == NULL: no context yet; if
 * the agent wants to look or stop here it calls boundary_trap_on_return()). */
void agent_event(uint64_t event, ucontext_t *uc);
/* Every SIGTRAP, whatever its pc (SIGTRAP must not be blocked in the lower half: a watched location
 * may be written while an event is answered; that trap is passed here too and ignored).  Returns
 * false if it was not ours: then it is the program's own int3 or icebp (the boundary calls
 * agent_fault(SIGTRAP..) or delivers it). */
bool agent_sigtrap(siginfo_t *info, ucontext_t *uc);
/* The program asks for an event that is not in the log: end of recording.  uc is the context to
 * show, with rip at the instruction that asks (a SIGSYS context: rip - 2; fpregs may be NULL).
 * Never returns to the program; stays in the stop loop until exit. */
void agent_end(ucontext_t *uc, uint32_t end_kind, int32_t end_value);
/* Same for a divergence. */
void agent_diverged(ucontext_t *uc, const char *text);
/* First look at a fault.  True: the agent caused it, by a guarded page or a trampoline. */
bool agent_faulted(const siginfo_t *info, ucontext_t *uc);
/* A fault has been delivered: uc stands at the beginning of the program's handler. */
void agent_handled(ucontext_t *uc);
/* Before that.  True: the agent has stopped there, and the instruction is to be made (again). */
bool agent_raises(int sig, const siginfo_t *info, ucontext_t *uc);
/* A handler is about to return to upper code. */
void agent_leaves(void);
/* SIGSEGV, SIGBUS, SIGILL, SIGFPE in upper code with no recorded handler. */
void agent_fault(int signal, siginfo_t *info, ucontext_t *uc);
/* SIGUSR1. uc may be in lower code. */
void agent_interrupt(siginfo_t *info, ucontext_t *uc);
/* SIGPROF.  uc may be in lower code.  Checks whether the search for a mark takes too long. */
void agent_look(siginfo_t *info, ucontext_t *uc);

/* ---- offered by the boundary ---- */
/* The user has changed memory or registers: what the program hands out is not compared from here on. */
void replica_changed(void);
/* Approximate time from the present event to the next in the recording; UINT64_MAX: unknown. */
uint64_t replica_interval_ns(void);
/* The replay has not met the recording's mark in this computation: reports that and stops. */
void replica_mark_missed(ucontext_t *uc, uint64_t spent_ns);
uint64_t replica_event(void);  /* last answered event */
uint64_t replica_thread(void); /* number of the running thread */
/* Registers and whereabouts of thread `number`, not the running one; false: there is none. */
struct replica_thread_info {
	uint32_t number;
	int32_t tid;
	uint32_t state;
	uint64_t tls;
	char name[16];
	ucontext_t uc;
};
bool replica_other_thread(uint32_t number, struct replica_thread_info *out);
/* The number of the thread after `number` (0: the first), 0: none. */
uint32_t replica_next_thread(uint32_t number);
uint64_t replica_tls(void); /* upper FS base of the running thread */
void replica_set_tls(uint64_t v);
uint64_t replica_hash(ucontext_t *uc); /* the arena hash; no int3 of ours may be in memory */
struct replica_info {
	uint64_t last_event, entry, auxv_addr, auxv_len, interp_base;
	uint32_t end_kind;
	int32_t end_value;
};
/* The log has grown up to `event`, and ends as given. */
void replica_until(uint64_t event, uint32_t end_kind, int32_t end_value);
void replica_info(struct replica_info *out);
/* What the program asked for when it came to the end of the log; false: it did not come there. */
struct agent_asked;
bool replica_asked(struct agent_asked *out);

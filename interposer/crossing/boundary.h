/* The boundary: every crossing of the upper half arrives here. */
#ifndef RDB_BOUNDARY_H
#define RDB_BOUNDARY_H
#include "crossing/ending.h"
#include "crossing/event.h"
#include "base/context.h"
#include "crossing/gate_asm.h"

/* Installs the signal handlers, maps the gate, switches Syscall User Dispatch (or the seccomp filter) on
 * for this thread.  0 or -errno. */
int boundary_init(void);
/* Another signal is ours: fn is called as the other handlers are, with what the program has in uc.  0 or -errno. */
int boundary_handle(int sig, void (*fn)(siginfo_t *info, ucontext_t *uc), int flags);
/* Switches dispatch on again, as after fork. */
int boundary_dispatch_on(void);
/* The gate of a replay becomes that of a recording.  0 or -errno. */
int boundary_gate_live(void);
/* Raises a signal on ourselves whose handler returns into the upper context that `fill` writes. */
void boundary_resume(void (*fill)(ucontext_t *uc)) __attribute__((noreturn));
/* The calling thread's signals are handled on t's stack from now on.  0 or -errno. */
struct thread;
int boundary_signal_stack(const struct thread *t);
/* Event 0: the program's entry point is reached (both modes start logging/replaying here). */
void boundary_started(ucontext_t *uc);
/* The same at the system call before which uc stands, when a constructor makes a thread or a process: an image
 * of the entry point would hold threads inside of calls that are in no log. */
void boundary_started_early(ucontext_t *uc);
/* Event 0 of a recording: its record, its image. */
void boundary_begin(ucontext_t *uc);
/* In a child after fork: what was under way belongs to the parent. */
void boundary_forget(void);
/* SIGTRAP at the first upper instruction after the present hypercall. */
void boundary_trap_on_return(void);
/* The same, and signals_want_delivery() then. */
void boundary_deliver_on_return(void);

/* syscalls.c: answers the system call of uc (record and pass modes carry it out). */
void syscall_event(ucontext_t *uc);
/* host.c */
int64_t host_call(struct event *ev, struct gate_frame *frame);
/* What a plug-in has to say in a restart (host.h); NULL: nothing against it. */
const char *host_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *args, int64_t *result);
/* And while payloads are made again. */
const char *host_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			struct rdb_recorded *recorded);
/* The same for checkpoints without a log (struct rdb_together); what there is of plug-ins is asked. */
struct table;
bool host_together_may_hold(bool waits);
uint64_t host_together_settle(void);
const char *host_together_refuses(void);
int host_together_save(struct table *out);
const char *host_together_load(const void *bytes, size_t len);
bool host_together_shares(uint64_t start, uint64_t end);
uint64_t host_upcall(struct gate_frame *frame, uint64_t fn, const uint64_t *args);
/* In replay: makes scratch memory up to `end` present. */
void host_scratch_upto(uint64_t end);

/* What a hypercall leaves as it was, with the stack as it is after the return (gate.S). */
static inline void gate_frame_kept(ucontext_t *uc, const struct gate_frame *frame)
{
	UC_REG(uc, RSP) = frame->rsp + 8;
	UC_REG(uc, RBP) = frame->rbp;
	UC_REG(uc, RBX) = frame->rbx;
	UC_REG(uc, R12) = frame->r12;
	UC_REG(uc, R13) = frame->r13;
	UC_REG(uc, R14) = frame->r14;
	UC_REG(uc, R15) = frame->r15;
}

#endif

/* The boundary: every crossing of the upper half arrives here. */
#pragma once
#include "crossing/ending.h"
#include "crossing/event.h"
#include "arch/context.h"
#include "crossing/gate_asm.h"

/* Installs the signal handlers, maps the gate, switches Syscall User Dispatch (or the seccomp filter) on
 * for this thread.  0 or -errno. */
int boundary_init(void);
/* Handles another signal: fn runs as our other handlers do, with the program's context in uc.  0 or -errno. */
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
/* Event 0 at the system call before which uc stands, not at the entry point, when a constructor makes a thread or
 * a process: an image of the entry point would hold threads inside of calls that are in no log. */
void boundary_started_early(ucontext_t *uc);
/* Event 0 of a recording: its record, its image. */
void boundary_begin(ucontext_t *uc);
/* In a child after fork: what was under way belongs to the parent. */
void boundary_forget(void);
/* Raise SIGTRAP, once, at the first upper instruction (not yet executed) after the present or, if none is going on, the
 * next return of a hypercall or an upcall from the lower half.  Asking twice is asking once. */
void boundary_trap_on_return(void);
/* In a handler: was the program interrupted?  A wild jump of its own may have led to any address. */
bool boundary_runs_upper(const ucontext_t *uc);
/* pc is a first instruction of the lower half that is reached from upper code. */
bool boundary_in_gate(uint64_t pc);
/* True: uc, in lower code, is on its way out, too far for boundary_trap_on_return().  It is made to trap. */
bool boundary_leaving(ucontext_t *uc);
/* In the child of AGENT_FORK, first of all: Syscall User Dispatch on again, and whatever else fork loses. */
void boundary_replica_forked(void);
/* boundary_trap_on_return(), and delivers signals at that trap. */
void boundary_deliver_on_return(void);

/* syscalls.c: answers the system call of uc (record and pass modes carry it out). */
void syscall_event(ucontext_t *uc);
/* host.c */
int64_t host_call(struct event *ev, struct gate_frame *frame);
/* The folder below which the files of an RDMA device lie that is no device of the system's; NULL: there is none. */
const char *host_device_files(void);
/* Asks no plug-in, and may be wrong only in that there is none. */
bool host_has_device_files(void);
/* Asks a plug-in at a step of a restart (host.h).  NULL: nothing against it. */
const char *host_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *args, int64_t *result);
/* The same while payloads are made again. */
const char *host_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			struct rdb_recorded *recorded);
/* The same for checkpoints without a log (struct rdb_coordinated): asks the plug-ins that are loaded. */
struct table;
bool host_coordinated_may_hold(bool waits);
uint64_t host_coordinated_settle(void);
const char *host_coordinated_refuses(void);
int host_coordinated_save(struct table *out);
const char *host_coordinated_load(const void *bytes, size_t len);
bool host_coordinated_shares(uint64_t start, uint64_t end);
uint64_t host_upcall(struct gate_frame *frame, uint64_t fn, const uint64_t *args);
/* In replay: makes scratch memory up to `end` present. */
void host_scratch_upto(uint64_t end);

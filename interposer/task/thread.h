/* Threads of the upper half.
 *
 * While a rank is recorded each upper thread is carried by a thread of the lower half, and they run one at a time: the
 * holder of the baton (baton.h) is in upper code, the others wait for an answer of the world or for the baton.  Each
 * record of the log names its thread; between two records the thread of the earlier one runs, so the order of the
 * records is the order of everything.
 *
 * In a replica all of them are coroutines of one kernel thread, each with a signal stack and a lower stack of its own:
 * a thread that asks for an event while the next record is another thread's gives way to that thread.  So fork() copies
 * them all, and no scheduler has a say.
 */
#pragma once
#include "base/thread.h"
#include "crossing/event.h"
#include "crossing/gate_asm.h"
#include "marks/spin.h"

/* The first thread, carried by the caller.  0 or -errno. */
int threads_init(void);
/* In a child after fork: only the caller is left, as thread 1. */
void threads_forked(void);
struct thread *threads_first(void);
struct thread *threads_find(uint32_t number);
/* A struct for a new thread, last in the list.  NULL: out of memory. */
struct thread *threads_add(const struct upper_thread *u);
/* In a thread that takes its turn: text with an instruction that is to trap may have come while others ran. */
void thread_traps(void);
/* Takes t out of the list; its memory is used again for another thread, unless its carrier stays. */
void threads_remove(struct thread *t, bool carrier_stays);
/* True: upper memory and registers hold all that the threads are.  None is in an upcall, with frames of the lower half
 * under way, and the caller runs on from here. */
bool threads_at_rest(void);
/* The kernel's number of the process or thread that the program knows by that number, -N of a group; and the other way
 * round (base/pids.h). */
uint64_t threads_number_now(uint64_t tid);
int32_t threads_number_known(int32_t now);
/* Its processor time as the program knows it. */
int64_t thread_processor_ns(const struct thread *t);
/* Makes t's stacks and events as if it had not begun: it goes on from t->start. */
void thread_unwind(struct thread *t);
/* Without a recording threads run in parallel: around what they share in the lower half. */
void threads_lock(void);
void threads_unlock(void);
/* Around a walk through the list in a handler, where the lock may be held: threads that end meanwhile still lead on. */
void threads_walk_begin(void);
void threads_walk_end(void);
/* Registers of any thread but the running one, for display: fills uc (fpregs may be NULL). */
void thread_context(const struct thread *t, ucontext_t *uc);
/* The same where an upcall has come back and the hypercall is not answered yet: registers before that return. */
void thread_context_after_upcall(const struct thread *t, ucontext_t *uc);

/* thread_calls.c: clone with CLONE_THREAD, carried out; in replay the log has answered it. */
struct clone_request {
	uint64_t flags, exit_signal; /* exit_signal is separate: a flag of clone3 has a bit of CSIGNAL */
	uint64_t stack, parent_tid, child_tid, tls, pidfd;
	uint64_t set_tid, set_tid_size, cgroup; /* clone3 alone */
};
long thread_clone(struct event *ev, const ucontext_t *uc, const struct clone_request *r);
void thread_cloned(const struct event *ev, const ucontext_t *uc, const struct clone_request *r);
/* exit(2) of one thread among several: what it does to memory, in every mode; then, after its event, the end. */
void thread_dying(void);
/* get_robust_list(2).  False: not a thread of this process. */
bool thread_robust_list(int32_t tid, uint64_t head_at, uint64_t len_at, long *result);
void thread_exit(ucontext_t *uc);
/* The start call of a new thread (gate_asm.h, GATE_START_CALL). */
void thread_started(ucontext_t *uc);

/* turns.c, replay: gives way until the next record of the log is this thread's, or there is none. */
void turns_await(ucontext_t *uc);
/* Another thread takes over for good. */
void turns_leave(ucontext_t *uc) __attribute__((noreturn));
/* Makes t start when the log comes to it: in upper code, at its start call, or (not NULL) in `entry`, which first of
 * all calls turns_arrived(). */
void turns_prepare(struct thread *t, void (*entry)(void));
struct thread *turns_arrived(void);
/* To t, not coming back to the calling thread. */
void turns_go(struct thread *t) __attribute__((noreturn));
/* True: the next record is a signal's delivery, or another thread's; the running thread executes no instruction before
 * it. */
bool turns_pending(void);
/* t goes on: its RESUME event. */
void turns_resumed(ucontext_t *uc);
/* A computing thread stands at the mark of the next record, a PREEMPT: takes it, and what follows. */
void turns_preempted(ucontext_t *uc);

/* In the replay they were coroutines of one kernel thread.  At the cut each stands before a call that has no answer
 * yet, and makes it again; or in a computation, and goes on there.  An image holds them in the same way, so the
 * branch's own first image has them.  Then each gets a carrier; the first is carried by the process's first thread, as
 * always. */
#pragma once
#include <ucontext.h>
#include "task/thread.h"

/* True: upper memory and registers hold all that the threads are, and the running thread stands at uc. */
bool live_threads_at_rest(void);
/* All but the running thread: keeps their registers and drops their coroutines.  now_ns: by the recording's clock. */
void live_threads_part(uint64_t now_ns);
/* The running thread has ended, and another goes on in its place. */
void live_threads_ended(void) __attribute__((noreturn));
/* Gives each thread its carrier, which waits. */
void live_threads_carried(void);
/* ps(1) shows a thread by its name: PR_SET_NAME of prctl(2), or else its program's. */
void live_thread_named(const struct thread *t, const char *name);
void live_threads_named(void);
/* Lets them go on.  The running thread goes on at uc: from here, or with its own carrier; then this does not return. */
void live_threads_begin(const ucontext_t *uc);

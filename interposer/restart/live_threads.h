/* The threads of a program that goes on live.
 *
 * In the replay they were coroutines of one kernel thread.  At the cut each stands before a call that has no answer
 * yet, and makes it again, or in a computation, and goes on there: as they are in an image, and so the branch's own
 * first image has them.  Then each gets a carrier; the first is carried by the process's first thread, as ever. */
#ifndef RDB_LIVE_THREADS_H
#define RDB_LIVE_THREADS_H
#include <ucontext.h>
#include "task/thread.h"

/* All that they are is in upper memory and their registers; who runs stands at uc. */
bool live_threads_at_rest(void);
/* All but the running one: their registers are kept, their coroutines are gone.  now_ns: by the recording's clock. */
void live_threads_part(uint64_t now_ns);
/* The running one has ended, and another goes on in its place. */
void live_threads_ended(void) __attribute__((noreturn));
/* Each gets its carrier, which waits. */
void live_threads_carried(void);
/* They go on; so does who runs, at uc: from here, or not coming back, with its own carrier. */
void live_threads_begin(const ucontext_t *uc);

#endif

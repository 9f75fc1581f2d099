/* Signals that have arrived and are not delivered yet: a thread's own, and those that any thread may take.
 * Of a real-time signal all are kept, in order (signal(7), "Real-time signals"), of others one. */
#ifndef RDB_SIGNAL_QUEUE_H
#define RDB_SIGNAL_QUEUE_H
#include "crossing/event.h"
#include "task/thread.h"

/* t NULL: for whoever wants it.  Async-signal-safe. */
void signal_keep(int sig, const siginfo_t *info, struct thread *t);
/* A timer has one signal that waits; what it sends meanwhile is counted (timer_getoverrun(2)).  Called when timer_create(2) and
 * timer_getoverrun(2) have been answered. */
void signal_timer_call(struct event *ev);
/* All that has arrived for t, whatever it blocks; what of it t does not block. */
uint64_t signal_arrived(const struct thread *t);
uint64_t signal_due(const struct thread *t);
/* Takes the lowest of `set` for the calling thread. */
bool signal_take(uint64_t set, siginfo_t *info, int *sig);
/* What the process holds and this thread wants becomes the thread's. */
void signal_claim(struct thread *self);
void signal_discard(int sig);
/* Copies of all that has arrived for t, the oldest of each number first: how many. */
enum { SIGNALS_KEPT = 384 };
unsigned signals_kept(const struct thread *t, siginfo_t list[SIGNALS_KEPT]);
/* Of `set`, what the process holds goes back to wait in the kernel. */
void signal_to_kernel(uint64_t set);

#endif

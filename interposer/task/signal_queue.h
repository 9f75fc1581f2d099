/* Signals that have arrived and are not delivered yet: a thread's own, and those that any thread may take.
 * Of a real-time signal all are kept, in order (signal(7), "Real-time signals"), of others one. */
#pragma once
#include "base/table.h"
#include "crossing/event.h"
#include "task/thread.h"

/* t NULL: for any thread of the process.  Async-signal-safe. */
void signal_keep(int sig, const siginfo_t *info, struct thread *t);
/* A timer has one signal that waits; further expirations are counted (timer_getoverrun(2)).  Called when
 * timer_create(2) and timer_getoverrun(2) have been answered. */
void signal_timer_call(struct event *ev);
/* Drops what that timer has sent; timer_getoverrun(2) begins anew.  With signals blocked. */
void signal_forget_timer(int id);
/* What has arrived for any thread of the process. */
uint64_t signal_shared(void);
/* All that has arrived for t, blocked or not; and what of it t does not block. */
uint64_t signal_arrived(const struct thread *t);
uint64_t signal_due(const struct thread *t);
/* The bit of the signal of SET that signal_take() would take; 0: there is none. */
uint64_t signal_first(uint64_t set);
/* Takes the lowest of `set` for the calling thread. */
bool signal_take(uint64_t set, siginfo_t *info, int *sig);
/* Signals of the process that this thread does not block become the thread's. */
void signal_claim(struct thread *self);
void signal_discard(int sig);
/* T ends: takes out the next instance of sig that was the process's; those for t alone are dropped.  False: none. */
bool signal_left(struct thread *t, int sig, siginfo_t *info);
/* Copies of all that has arrived for threads and for the process, the oldest of each number first.  0 or -errno. */
#define SIGNAL_FOR_ANY UINT32_MAX
struct kept_signal {
	uint32_t thread;    /* its number, or SIGNAL_FOR_ANY */
	uint32_t in_kernel; /* it waits in the kernel, for a descriptor to read it */
	siginfo_t info;
};
int signals_kept(struct table *list);
/* Takes the next signal of the set that waits in the kernel, one for the calling thread alone first (kernel/signal.c,
 * dequeue_signal).  False: none. */
bool kept_signal_from_kernel(uint64_t set, struct kept_signal *next);
/* The signal goes back to wait in the kernel; signals of the process in `set` do. */
void kept_signal_to_kernel(const struct kept_signal *one);
void signal_to_kernel(uint64_t set);

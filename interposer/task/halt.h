/* All threads of a program that runs without a recording stand still at once, where nothing of them is under way: in
 * their own code, before a call that waits, or where an event has been answered.
 *
 * A thread that comes to such a place and wants a halt says so.  The program's first thread, if it still exists, then
 * acts for all (MPI libraries may know it as the only one that calls them).  It signals the others until each has come
 * to rest, and lets all go again.  No thread is waited for longer than a moment: one that is in the middle of something
 * long is asked again when it has done that. */
#pragma once
#include <ucontext.h>
#include "task/thread.h"

/* The calling thread is at rest: with the registers uc, or (NULL) before the present call.  `complete` (or NULL) says
 * that the call has what it waits for.  `act` is called, in one thread, when all are at rest.  True: `act` was called
 * and returned true; in the other threads: they have stood still. */
bool halt_here(const ucontext_t *uc, bool (*complete)(void *), void *arg, bool (*act)(const ucontext_t *uc));
/* The signal with this info told the calling thread to come to rest.  Call it in the handler. */
bool halt_told(struct thread *self, const siginfo_t *info);
/* While all stand still: does any have what it waits for?  Do all of them wait, without a time-out, at least one in a
 * plug-in? */
bool halt_any_complete(void);
bool halt_all_wait(void);
/* When they began to come to rest, by the monotonic clock. */
uint64_t halt_since_ns(void);
/* How long a thread that stands before a call has waited in it; 0: it stands before none. */
uint64_t halt_waited_ns(const struct thread *t);
/* Between two looks of a waiting thread: the first times it yields, later it sleeps. */
void halt_nap(unsigned turn, unsigned spins, long ns);
/* In a child after fork. */
void halt_forked(void);

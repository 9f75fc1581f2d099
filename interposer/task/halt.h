/* All threads of a program that runs without a recording stand still at once, where nothing of them is under way: in
 * their own code, before a call that waits, or where an event has been answered.
 *
 * Whoever comes to such a place and wants it says so; the program's first thread, if it is there still, is the one
 * that then acts for all (MPI libraries may know it as the only one that calls them).  It signals the others until each
 * has come to rest, and lets all go again.  Nobody is waited for longer than a moment: a thread that is in the middle
 * of something that takes its time is asked again when it has done that. */
#ifndef RDB_HALT_H
#define RDB_HALT_H
#include <ucontext.h>
#include "task/thread.h"

/* The calling thread is at rest: with the registers uc, or (NULL) before the present call; `complete` (or NULL) says
 * that the call has what it waits for.  `act` is called, in one thread, when all are.  True: it was called, and
 * says so; in the other threads: they have stood still. */
bool halt_here(const ucontext_t *uc, bool (*complete)(void *), void *arg, bool (*act)(const ucontext_t *uc));
/* A thread was signalled to come to rest (`told`: this is its handler; info: of the signal). */
bool halt_told(struct thread *self, const siginfo_t *info);
/* While all stand still: has any of them what it waits for?  Do they wait, all of them and for as long as it takes, some
 * in a plug-in? */
bool halt_any_complete(void);
bool halt_all_wait(void);
/* Since when they have been coming to rest, by the monotonic clock. */
uint64_t halt_since_ns(void);
/* How long a thread that stands before a call has waited in it; 0: it is not before one. */
uint64_t halt_waited_ns(const struct thread *t);
/* In a child after fork. */
void halt_forked(void);

#endif

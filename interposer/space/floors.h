/* The floor of shared memory: the right to be in upper code, among the processes of a rank that have the memory.
 *
 * A store of another process that the program sees between two events cannot be replayed (shared_memory.h).  So
 * processes that share memory take turns, as the threads of one process do (task/baton.h): a process is in upper code
 * only while it has the floors of all its shared memory.  What others have stored meanwhile is logged with the event at
 * which it comes back.  Processes that share nothing run at the same time, and so do ranks: what ranks share, such as a
 * window of MPI, they mostly hand over by calls, which are events.
 *
 * A file in the rank's directory says who has each floor, and who waits for it; a key of the memory says which floor it
 * has (two that have the same do no harm).  A floor is handed to the process that waits longest.  A process that ends
 * gives its floors up.  One that is killed is found dead by those that wait.  One that does not see that it was handed a
 * floor, since it is stopped, loses it to those that wait.  One that keeps a floor for too long, being
 * stopped or waiting in a call of which rdb does not know that it waits, loses it: nobody waits without bound.
 * docs/internals/threads.md has the states, and a test explores them.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "base/fnv.h"

/* The key of memory, by the numbers of its file; of a System V segment: 0 and its id. */
static inline uint64_t floor_key(uint64_t dev, uint64_t ino)
{
	return fnv1a(fnv1a(FNV_BEGIN, &dev, sizeof(dev)), &ino, sizeof(ino)) | 1;
}

/* This process takes part from now on, without a floor.  0 or -errno. */
int floors_join(void);
/* In a child after fork: it does not take part yet. */
void floors_forked(void);
/* The process ends, becomes another program, or is not recorded any more. */
void floors_leave(void);

enum { FLOORS_MOST = 1024 };

/* Waits for the floors with these keys.  0, or the id of a process that kept one for too long and has lost it. */
uint32_t floors_take(const uint64_t *keys, unsigned n);
void floors_give(void);
/* Waits until another process waits for one of our floors (true), or this one leaves, or *ends.  floors_look() makes it
 * look at *ends. */
bool floors_await_others(const bool *ends);
void floors_look(void);
/* A child that has just been forked will take part, or has the memory without storing there. */
void floors_expect(uint32_t pid);
/* Does the process take part, or will it? */
bool floors_has(uint32_t pid);
/* A signal that stops a process was sent there, as by kill(2): to one other process, or to another group (negative). */
void floors_await_stop(int to);

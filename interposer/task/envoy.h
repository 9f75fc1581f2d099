/* The envoy: a thread of the lower half that queues for the baton in the name of all other processes with which this one
 * shares memory (space/floors.h).
 *
 * While a thread of the program has the baton the process has its floors.  When another process waits for one of them the
 * envoy waits for the baton, as any thread of the program would; so slices, spins, blocking calls and stops in a
 * computation need nothing new.  When it has the baton it gives them up.  When a thread of the program wants the
 * baton it takes them again, notes that others may have stored, and gives the baton on.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* This process shares more memory from now on: takes the floors of all of it, and of memory with that key (0: none), which
 * is about to be mapped.  The caller has the baton, and nobody else runs until it returns. */
void envoy_begin(uint64_t key);
/* In a child after fork, which does not share memory yet. */
void envoy_forked(void);
/* Ends the envoy, where the kernel demands that the process has one thread; then makes another.  The caller has the
 * baton, and keeps the floors. */
void envoy_rest(void);
void envoy_back(void);
/* Gives the floors up, and takes them again; the caller keeps the baton meanwhile. */
void envoy_lend(void);
void envoy_return(void);
/* The recording ends, or the process does. */
void envoy_leave(void);

/* `rdb run --chaos`: threads and ranks are late at random, so that orders which are rare become frequent.
 *
 * Each order is one that could happen without rdb, too; the log has it like any other, and a replay needs nothing of
 * this.  A thread that is late rests, while others run (baton_rest()).  For some events it is quick (it rests before
 * one of hundreds), for others slow (before one of a few), so that at times it falls far behind.  In a program with
 * several threads it also rests at places picked at random, just before an access to memory.  A slice has any length,
 * and whoever waits for the baton may be next.  Robert O'Callahan's chaos mode of rr (2016) is the model, except for
 * the places.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A process begins: at the start, and in a child after fork. */
void chaos_begins(void);
/* The calling thread holds the baton and comes to an event, or to a place.  True: it is to rest. */
bool chaos_late(void);
bool chaos_late_at_place(void);
/* For how long.  0: the process has rested enough. */
uint64_t chaos_rest_ns(void);
/* Any length up to `most_ns`. */
uint64_t chaos_slice_ns(uint64_t most_ns);

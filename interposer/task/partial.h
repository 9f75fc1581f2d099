/* Calls that have moved a part of what they were asked to when a signal came of which the program knows nothing.  The
 * rest is moved as well: on a descriptor that blocks a program need not expect less. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* These calls move whole messages, the others bytes. */
bool partial_counts_messages(long nr);
/* Does it wait for more than it finds? */
bool partial_gathers(long nr, const uint64_t args[6]);
/* How many the call is to move; 0: it may move fewer at any time. */
uint64_t partial_asks(long nr, const uint64_t args[6]);
/* The call has moved fewer, and no signal was handled in its thread.  One may have come all the same: the kernel wakes
 * a thread for a signal of the process, and another takes it (kernel/signal.c: complete_signal, recalc_sigpending).
 * True: nothing else has ended the call. */
bool partial_by_signal(long nr, const uint64_t args[6]);
/* The call that goes on after `done` bytes or messages: its arguments in `rest`, its number as the result. */
long partial_rest(long nr, const uint64_t args[6], uint64_t done, uint64_t rest[6]);

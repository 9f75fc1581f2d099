/* Calls that are made again after the program has waited in them: by a restarted program, and after an interruption
 * that is not the program's. */
#pragma once
#include <time.h>
#include "crossing/event.h"

/* The call's time-out becomes what is left of it (in *left).  Not where the program is told the rest, or a socket has
 * the time-out: signal_waits.c does that.  True: the call need not wait any more, its answer is 0. */
bool waited_before(const struct event *ev, uint64_t args[6], struct timespec *left);
/* The same for a call under way, after an interruption that is not the program's. */
void waited_since(long nr, uint64_t args[6], uint64_t waited_ns, struct timespec *left);
/* Does the call have a time-out that begins now? */
bool waited_ends(long nr, const uint64_t args[6]);
/* The argument that points to the time-out, where the kernel also puts its rest in the end; 0: none. */
unsigned waited_told(long nr);
/* The argument that says where to put the rest if a signal ends the call, and only then; 0: none. */
unsigned waited_rest(long nr, const uint64_t args[6]);

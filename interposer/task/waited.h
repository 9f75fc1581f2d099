/* Calls that are made again, in which the program had waited already: by a restarted one, and after an interruption
 * that is not the program's. */
#ifndef RDB_WAITED_H
#define RDB_WAITED_H
#include <time.h>
#include "crossing/event.h"

/* Its time-out becomes what is left of it (in *left); who makes the call sees to that where the program is told of it, or a
 * socket has it (signal_waits.c).  True: it need not wait any more, the answer is 0. */
bool waited_before(const struct event *ev, uint64_t args[6], struct timespec *left);
/* The same of a call that is under way: after an interruption that is not the program's. */
void waited_since(long nr, uint64_t args[6], uint64_t waited_ns, struct timespec *left);
/* Has it a time-out from now on? */
bool waited_ends(long nr, const uint64_t args[6]);
/* Which argument says where its time-out is and what is left of it is put in the end; 0: none. */
unsigned waited_told(long nr);
/* Which argument says where what is left is to be put if a signal ends it, and only then; 0: none. */
unsigned waited_rest(long nr, const uint64_t args[6]);

#endif

/* Calls that a restarted program makes again, in which it had waited already. */
#ifndef RDB_WAITED_H
#define RDB_WAITED_H
#include <time.h>
#include "boundary/event.h"

/* Its time-out becomes what is left of it (in *left).  True: it need not wait any more, the answer is 0. */
bool waited_before(const struct event *ev, uint64_t args[6], struct timespec *left);

#endif

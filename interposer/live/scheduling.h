/* Processors, policies and priorities that a program has asked for: followed on the way to a cut, and asked for again. */
#ifndef RDB_SCHEDULING_H
#define RDB_SCHEDULING_H
#include "boundary/event.h"

/* A system call that succeeded in the recording. */
void scheduling_syscall(const struct event *ev);
/* For restarts of the branch; and when its threads are there.  What this machine does not allow is said. */
void scheduling_save(void);
void scheduling_restore(void);

#endif

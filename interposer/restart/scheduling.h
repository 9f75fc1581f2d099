/* Processors, policies and priorities that a program has asked for: followed on the way to a cut, and asked for again. */
#ifndef RDB_SCHEDULING_H
#define RDB_SCHEDULING_H
#include "crossing/event.h"
#include "base/table.h"

/* A system call that succeeded in the recording. */
void scheduling_syscall(const struct event *ev);
/* For restarts of the branch; and when its threads are there.  What this machine does not allow is said. */
void scheduling_save(void);
void scheduling_restore(void);

/* Without a log: what the launcher has given the process; later, what its threads have that is not that (0 or -errno),
 * and in a restart (false: it is damaged) what scheduling_restore() is to ask for. */
void scheduling_begin(void);
int scheduling_look(struct table *out);
bool scheduling_from(const void *bytes, size_t len);

#endif

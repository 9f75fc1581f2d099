/* Carriers: threads of the lower half, each of which runs one upper thread. */
#ifndef RDB_CARRIER_H
#define RDB_CARRIER_H
#include "task/thread.h"

/* A carrier for t, whose number is known then (t->carrier); it waits.  0 or -errno. */
int carrier_start(struct thread *t);
/* It may begin: t goes on with what is in t->start, when it has the baton. */
void carrier_begin(struct thread *t);

#endif

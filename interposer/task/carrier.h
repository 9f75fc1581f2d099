/* Carriers: threads of the lower half, each of which runs one upper thread. */
#pragma once
#include "task/thread.h"

/* Makes a carrier for t, which waits; t->carrier is its thread id.  0 or -errno. */
int carrier_start(struct thread *t);
/* Lets it begin: t goes on with what is in t->start, when it has the baton. */
void carrier_begin(struct thread *t);

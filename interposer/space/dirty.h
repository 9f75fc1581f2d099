/* Finds the pages of the upper half that were written to: userfaultfd(2) with asynchronous write protection, and
 * PAGEMAP_SCAN (Linux 6.7, Documentation/admin-guide/mm/pagemap.rst). */
#pragma once
#include <stdint.h>
#include "base/table.h"

struct dirty_range {
	uint64_t start, end;
};

/* Appends (struct dirty_range, in order) what was written to, and what was mapped, since the last call, and starts
 * again. 0; -errno: this machine cannot tell. */
int dirty_collect(struct table *t);
/* Likewise since the last call of either function; the next dirty_collect() reports it again. */
int dirty_look(struct table *t);
/* In a child after fork: starts with nothing known. */
void dirty_forget(void);

/* Stops watching these pages: a watched page that is not present looks in the pagemap as if it were swapped out. */
void dirty_unwatch(uint64_t start, uint64_t end);

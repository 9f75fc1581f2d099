/* Which pages of the upper half were written to: userfaultfd(2) with asynchronous write protection, and
 * PAGEMAP_SCAN (Linux 6.7, Documentation/admin-guide/mm/pagemap.rst). */
#ifndef RDB_DIRTY_H
#define RDB_DIRTY_H
#include <stdint.h>
#include "base/table.h"

struct dirty_range {
	uint64_t start, end;
};

/* Appends (struct dirty_range, in order) what was written to since the call before, and what memory there
 * is that was not there then; begins anew.  0; -errno: this machine cannot tell. */
int dirty_collect(struct table *t);
/* The same since the last call of either; the next dirty_collect() tells of it again. */
int dirty_look(struct table *t);
/* In a child after fork: nothing is known. */
void dirty_forget(void);

/* Of these pages it is not asked any more: what is watched and not there looks in the pagemap as if it were swapped out. */
void dirty_unwatch(uint64_t start, uint64_t end);

#endif

/* Open files in which several processes of a tree move by one description, and timers that several set: what each did is
 * in the tree's streams, and one process does it again, in order, at the cut. */
#ifndef RDB_TREE_MOVES_H
#define RDB_TREE_MOVES_H
#include <stdbool.h>
#include <stdint.h>
#include "restart/tree_streams.h"

struct opened;

/* On the way; WHERE: not where the description is (pwrite(2)). */
void tree_file_moved(struct opened *f, const void *bytes, uint64_t done, bool writing, const uint64_t *where);
void tree_file_sought(struct opened *f, uint64_t offset);
void tree_file_cut(struct opened *f, uint64_t size);
/* As it is now. */
void tree_timer_set(const struct opened *f);
void tree_timer_read(const struct opened *f, uint64_t expired);
/* At the cut. */
void tree_file_fill(const struct all_ops *all, struct opened *f);
void tree_timer_fill(const struct all_ops *all, struct opened *f);

#endif

/* What a branch with several processes began with, for restarts of that branch: beside the recording of its first process
 * (shared-N, shared-N-was, tree-pids), and for readers of the log beside each (tree-began). */
#ifndef RDB_TREE_BORN_H
#define RDB_TREE_BORN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At the cut.  What is in a pipe or an eventfd; then, in all processes, which open files there are and who has them. */
void tree_born_filled(uint32_t number, const void *bytes, size_t len);
void tree_born_save(void);

/* At the beginning of a restart: the first process makes all that are shared, and the others inherit them. */
void tree_born_make(void);
/* An open file of this process that is one of those. */
struct opened;
void tree_born_found(struct opened *f);

/* The numbers of children go on with those that it had. */
void tree_children_save(void);
void tree_children_load(void);

#endif

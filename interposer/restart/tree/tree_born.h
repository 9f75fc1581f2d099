/* What a branch with several processes began with, for restarts of that branch: beside the recording of its first
 * process (shared-N, shared-N-was, tree-pids), and for readers of the log beside each (tree-began). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At the cut.  tree_born_filled(): the content of a pipe or an eventfd.  tree_born_save(), in all processes: the open
 * files, and which process has them. */
void tree_born_filled(uint32_t number, const void *bytes, size_t len);
void tree_born_save(void);

/* At the beginning of a restart: the first process makes all that is shared, and the others inherit it. */
void tree_born_make(void);
/* Saves and loads the number of children, so that later ones are numbered on from there. */
void tree_children_save(void);
void tree_children_load(void);

/* Files that one rank of an MPI job had written by the cut, or goes on writing: all ranks find that rank's version, in
 * the branch's directory, where the ranks are on hosts that share it (rdb/live/files/later_files.py). */
#pragma once
#include <stdbool.h>

/* True: files are given, by processes of a tree, which meet in their own way, or by ranks. */
bool given_here(void);
/* This rank has put its copy there. */
void given_put(const char *path);
/* Waits until all ranks have put theirs.  A file that no rank has put is the real one. */
void given_meet(void);

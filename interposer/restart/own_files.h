/* Files of the branch's own, by the path that the program knows: those that it was writing to at the cut, and those that are
 * not any more as it had left them, because the recorded job changed, renamed or deleted them after the cut. */
#ifndef RDB_OWN_FILES_H
#define RDB_OWN_FILES_H
#include <stdint.h>
#include "crossing/host.h"
#include "restart/open_table.h"
#include "restart/own_table.h"

/* ---- on the way to the cut ---- */

/* Opened for writing, or again: its copy, with what was in it. */
void own_opened(struct opened *f, const struct rdb_note_opened *note);
/* Nobody has it open any more: what it left is kept until the cut. */
void own_closed(const struct opened *f);
/* What is written by one that others have, and by this one: nobody follows which came first. */
void own_several(struct opened *f);
bool own_twice(const struct opened *f);
/* A child has what is open now. */
void own_forked(void);
void own_renamed(const char *from, const char *to);
void own_unlinked(const char *path);
void own_linked(const char *path, const char *also);

/* ---- at the cut ---- */

/* Which are the branch's from here on; written down, for restarts of the branch. */
void own_at_cut(void);
/* What a branch began with. */
void own_load(void);
void own_add(const char *path, const char *place);
/* What one of the job's processes has there the others find at PLACE. */
void own_given(const char *path, const char *place);
/* What this rank had left in it is not what the branch has. */
void own_forget(const char *path);

/* ---- in the branch ---- */

/* NULL: it is the real one. */
const char *own_place(const char *path);
/* Of one that has this name, or of what is in a directory that has; OUT has room for LONGEST.  False: it is the real one. */
bool own_place_of(const char *full, char *out);
/* The paths of a system call become those of the branch's files, which are in ROOM (two).  True: the call is made. */
bool own_paths(uint64_t nr, uint64_t args[6], char (*room)[LONGEST]);

/* getdents64(2).  False: as it is. */
bool own_lists(int fd, char *entries, size_t room, long *result);

#endif

/* Files of the branch's own, by the path that the program knows: those that it was writing to at the cut, and those
 * that are not any more as it had left them, because the recorded job changed, renamed or deleted them after the
 * cut. */
#pragma once
#include <stdint.h>
#include "interface/host.h"
#include "restart/base/open_table.h"
#include "restart/copies/own_table.h"

/* ---- on the way to the cut ---- */

/* A file is opened for writing, or again: gives it its copy, with the content of then. */
void own_opened(struct opened *f, const struct rdb_note_opened *note);
/* No descriptor has it open any more: what the program left in it is kept until the cut. */
void own_closed(const struct opened *f);
/* Several descriptions of a file are written to, one of them by other processes, too: the order of the writes is not
 * followed. */
void own_several(struct opened *f);
bool own_twice(const struct opened *f);
/* A child has been made, which has the files that are open now. */
void own_forked(void);
void own_renamed(const char *from, const char *to);
void own_unlinked(const char *path);
void own_linked(const char *path, const char *also);

/* ---- at the cut ---- */

/* Determines which files are the branch's from here on, and writes that down for restarts of the branch. */
void own_at_cut(void);
/* later_files.c: files that the recorded job wrote to only later are the branch's own, too. */
void later_files_load(void);
/* What a branch began with. */
void own_load(void);
void own_add(const char *path, const char *place);
/* The other processes of the job find at PLACE what one of them has there. */
void own_given(const char *path, const char *place);
/* What this rank had left in the file is not what the branch has. */
void own_forget(const char *path);

/* ---- in the branch ---- */

/* Where the branch's own file is; NULL: the real one counts. */
const char *own_place(const char *path);
/* The same for a file of this name, or one in an own directory; OUT has room for LONGEST. False: the real one
 * counts. */
bool own_place_of(const char *full, char *out);
/* Replaces the place of such a file, LONGEST bytes, by the path that the program knows. */
void own_known_as(char *place);
/* Replaces the paths of a system call by those of the branch's files, which are put in ROOM (two).  True: the call has
 * been made. */
bool own_paths(uint64_t nr, uint64_t args[6], char (*room)[LONGEST]);

/* Carries out getdents64(2).  False: the caller makes the call unchanged. */
bool own_lists(int fd, char *entries, size_t room, long *result);

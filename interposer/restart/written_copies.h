/* Files that the program was writing to at the cut: the branch has copies, which hold what they held then. */
#ifndef RDB_WRITTEN_COPIES_H
#define RDB_WRITTEN_COPIES_H
#include "crossing/host.h"
#include "restart/open_table.h"

/* The path without links on the way; the last part need not exist, and is followed if FOLLOW.  False: a directory on the
 * way is not there; OUT is then the path as it is. */
bool open_whole_path(int dirfd, const char *path, char *out, bool follow);
/* Where a new one would be. */
void copy_place(char *out, size_t size, const char *path);
/* An empty one in the branch's directory. */
void copy_new(struct opened *f);
void copy_fill(const char *from, struct opened *f, uint64_t size);
/* What was in it before the program opened it, whose size the recording noted; what is lost is a refusal at the cut. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note);
/* As it is now, at KEPT: the live one goes on changing. */
void copy_keep(const char *kept, const char *from, uint64_t size);
void copy_keep_opened(const char *kept, const struct opened *f);
void copy_write(struct opened *f, uint64_t offset, const void *bytes, uint64_t len);
uint64_t copy_end(const struct opened *f);

#endif

/* Files that the program was writing to at the cut: the branch has copies, which hold what they held then. */
#ifndef RDB_WRITTEN_COPIES_H
#define RDB_WRITTEN_COPIES_H
#include "boundary/host.h"
#include "live/open_table.h"

/* The path without links on the way; the last part need not exist.  False: it cannot be resolved. */
bool open_whole_path(int dirfd, const char *path, char *out);
/* An empty one in the branch's directory. */
void copy_new(struct opened *f);
void copy_fill(const char *from, struct opened *f, uint64_t size);
/* What was in it before the program opened it, whose size the recording noted; refuses what is lost. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note);
void copy_write(struct opened *f, uint64_t offset, const void *bytes, uint64_t len);
uint64_t copy_end(const struct opened *f);

#endif

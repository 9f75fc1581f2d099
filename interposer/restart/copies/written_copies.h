/* Files that the program was writing to at the cut: the branch has copies, with the content of then. */
#pragma once
#include "interface/host.h"
#include "answer/other_names.h"
#include "restart/base/open_table.h"

/* The path for a new copy. */
void copy_place(char *out, size_t size, const char *path);
/* The path of a copy. */
void copy_where(int copy, char place[LONGEST]);
/* Makes an empty copy in the branch's directory. */
void copy_new(struct opened *f);
void copy_fill(const char *from, struct opened *f, uint64_t size);
/* Fills in the content from before the program opened the file; the recording noted its size.  If that is lost, the cut
 * is refused. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note);
/* Keeps the present content at KEPT: the live copy goes on changing. */
void copy_keep(const char *kept, const char *from, uint64_t size);
void copy_keep_opened(const char *kept, const struct opened *f);
void copy_write(struct opened *f, uint64_t offset, const void *bytes, uint64_t len);
uint64_t copy_end(const struct opened *f);

/* What else than log and images is in a recording's directory: what each file holds is in `sums` beside it (log/file_sum.h),
 * where whoever reads the file looks. */
#ifndef RDB_SIDE_FILES_H
#define RDB_SIDE_FILES_H

/* It is whole, and stays as it is. */
void side_file_whole(const char *path);
/* All of a branch that begins: it stays as it began with them. */
void side_files_whole(const char *dir);
/* Why that file is not what was written, or NULL.  One of which `sums` does not say it, any more, is told. */
const char *side_file_damaged(const char *path);
/* The same of those whose names begin so; NULL: of all that a branch began with. */
const char *side_files_damaged(const char *dir, const char *prefix);

#endif

/* Files in a recording's directory other than log and images.  Size and checksum of each are in `sums` beside it
 * (log/file_sum.h), where readers check them. */
#pragma once

/* Notes the file in `sums`: it is complete and will not change. */
void side_file_whole(const char *path);
/* Notes all files with which a branch begins. */
void side_files_whole(const char *dir);
/* Why the file is not what was written, or NULL.  If `sums` is damaged or has no line for the file, warns and returns
 * NULL. */
const char *side_file_damaged(const char *path);
/* Likewise for files whose names begin with prefix; NULL: all files with which a branch began. */
const char *side_files_damaged(const char *dir, const char *prefix);

/* What /proc says about the program itself, where it would show the lower half instead: proc(5). */
#ifndef RDB_PROC_FILES_H
#define RDB_PROC_FILES_H
#include "base/lower.h"

/* While recording: opens maps, cmdline, environ or auxv of the program, made up in memory (*result: descriptor
 * or -errno).  False: another file. */
bool proc_files_open(const char *path, unsigned flags, long *result);
/* getdents, getdents64 (`nr`): lists descriptors without ours.  False: another directory. */
bool proc_files_list(long nr, int fd, char *entries, size_t size, long *result);

#endif

/* Files of /proc about the program itself that would show the lower half: proc(5). */
#pragma once
#include "base/lower.h"

/* While recording: if the path is maps, cmdline, environ, auxv, status, stat or statm of the program, or limits of any
 * process, opens a memory file with the program's view (*result: descriptor or -errno).  False: another file. */
bool proc_files_open(int dir, const char *path, unsigned flags, long *result);
/* getdents, getdents64 (`nr`) of the list of descriptors or of threads: leaves ours out.  False: another directory. */
bool proc_files_list(long nr, int fd, uint64_t entries, size_t size, long *result);

/* Files of /proc about the program itself, by any path: proc(5). */
#pragma once
#include <stdbool.h>

enum { OWN_PROC_NAME = 64 };

/* The name below /proc/self, /proc/thread-self or /proc/PID; NULL: not about this process. */
const char *own_proc_below(const char *path);
/* The path as openat(2) takes it leads to one of the files that would show the lower half (maps, cmdline, environ,
 * auxv, status, stat, statm, exe): its name in the folder of the process or, with *tid, of a thread.  *tid: -1 for
 * /proc/thread-self, 0 for the process. */
bool own_proc_file(int dir, const char *path, char name[OWN_PROC_NAME], int *tid);

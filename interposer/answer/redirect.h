/* Paths with another meaning under rdb: the program's own file, and the libraries that we replace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Does the path lead to /proc/self/exe, which really is rdb-exec? */
bool redirect_self(int dir, const char *path);
/* Where the program's file is, also if it has been renamed or deleted since. */
const char *redirect_exe(void);
/* Puts that into the arguments of a call that would follow the link. */
void redirect_followed(uint64_t nr, uint64_t args[6]);
/* Answers readlink(2) of that path. */
long redirect_readlink(uint64_t buf, int size);

/* open(2), ETXTBSY: the file of a running program cannot be written.  For the kernel that program is rdb-exec; this is
 * the file it runs.  The descriptor stays open. */
void redirect_program(int fd);
/* Would a call write to that file? *result: the error. */
bool redirect_busy(uint64_t nr, const uint64_t args[6], long *result);

/* The path to open instead of this one, or the path itself: for a library in front of the gate it is our stub (GDB
 * finds it by the recorded path). */
const char *redirected(const char *path);

/* RLIMIT_AS, RLIMIT_DATA and RLIMIT_FSIZE (getrlimit(2)).
 *
 * The kernel would count rdb's own memory, and the files that rdb writes.  So the kernel's limits are the program's and
 * LIMIT_APART more, which no process reaches; the rest is the kernel's as before: who may set them, for which process, who
 * inherits them.  What the program maps is counted in memory_limits.c; file_limit.c sees to the size of its files.
 *
 * Where the limits that rdb itself was started with cannot be raised they are the kernel's alone, and rdb counts, too.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* Sets the limits apart with which this process was started. */
void limits_begin(void);
/* What this process executes is not rdb's any more. */
void limits_leave(void);
/* getrlimit, setrlimit, prlimit64.  False: about other limits, the kernel answers. */
bool limits_call(uint64_t nr, const uint64_t a[6], long *result);
/* Sets a limit of this process, of whatever kind. 0 or -errno. */
long limits_set(unsigned which, const struct rlimit *to);
/* A value that the kernel shows, as the program set it. */
uint64_t limits_known(uint64_t value);
/* The program's limit if rdb has to see to it (also in *l); RLIM_INFINITY: none, or the kernel does. */
uint64_t limits_own(unsigned which, struct rlimit *l);

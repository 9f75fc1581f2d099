/* RLIMIT_AS and RLIMIT_DATA (getrlimit(2)).
 *
 * The kernel would count rdb's own memory.  So the kernel's limits are the program's and LIMIT_APART more, which no
 * process reaches; the rest is the kernel's as before: who may set them, for which process, who inherits them.  What the
 * program maps is counted here.
 *
 * Where the limits that rdb itself was started with cannot be raised they are the kernel's alone, and count rdb's memory.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* Sets the limits apart with which this process was started. */
void memory_limits_begin(void);
/* What this process executes is not rdb's any more. */
void memory_limits_leave(void);
/* getrlimit, setrlimit, prlimit64.  False: about other limits, the kernel answers. */
bool memory_limits_call(uint64_t nr, const uint64_t a[6], long *result);
/* Sets a limit of this process, of whatever kind. 0 or -errno. */
long memory_limits_set(unsigned which, const struct rlimit *to);
/* A value that the kernel shows, as the program set it. */
uint64_t memory_limits_known(uint64_t value);

/* Is there room for `more` bytes in place of what is mapped in [at, at + replaced)?  `data`: they are private and may be
 * written.  0 or -ENOMEM; so are the next two. */
long memory_limits_more(size_t more, bool data, uint64_t at, size_t replaced);
/* [at, at + len) is to have this protection. */
long memory_limits_protect(uint64_t at, size_t len, int prot);
/* The heap is to end at `want`. */
long memory_limits_heap(uint64_t want);

/* What the program's RLIMIT_AS and RLIMIT_DATA let it map (limits.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there room for `more` bytes in place of what is mapped in [at, at + replaced)?  `data`: they are private and may be
 * written.  0 or -ENOMEM; so are the next two. */
long memory_limits_more(size_t more, bool data, uint64_t at, size_t replaced);
/* [at, at + len) is to have this protection. */
long memory_limits_protect(uint64_t at, size_t len, int prot);
/* The heap is to end at `want`. */
long memory_limits_heap(uint64_t want);

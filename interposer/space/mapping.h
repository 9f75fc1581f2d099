/* Makes mappings in the upper half. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* mmap(2) with MAP_FIXED.  The address or -errno. */
long memory_map_at(uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset);
/* Maps zero memory at `at`, replacing what is there. 0 or -errno. */
long memory_map_zero(uint64_t at, size_t len, int prot);
/* Maps [at, at+len) from a stored file (replay, restore); zeros beyond its end. 0 or -errno. */
long memory_map_stored(uint64_t at, size_t len, int prot, const char *key, uint64_t offset);

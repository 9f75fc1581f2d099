/* Mappings of the upper half that are made by us. */
#ifndef RDB_MAPPING_H
#define RDB_MAPPING_H
#include <stddef.h>
#include <stdint.h>

/* mmap(2) with MAP_FIXED: the address or -errno. */
long memory_map_at(uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset);
/* Zero memory at `at`, in place of what is there.  0 or -errno. */
long memory_map_zero(uint64_t at, size_t len, int prot);
/* Maps [at, at+len) from a stored file (replay, restore); what is beyond its end is zero. */
long memory_map_stored(uint64_t at, size_t len, int prot, const char *key, uint64_t offset);

#endif

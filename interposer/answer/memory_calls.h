/* System calls that change the memory map: emulated, so that every run has the same addresses. */
#ifndef RDB_MEMORY_CALLS_H
#define RDB_MEMORY_CALLS_H
#include "crossing/event.h"

long memory_mmap(struct event *ev, ucontext_t *uc);
long memory_munmap(struct event *ev, ucontext_t *uc);
long memory_mprotect(struct event *ev, ucontext_t *uc);
long memory_mremap(struct event *ev, ucontext_t *uc);
long memory_madvise(struct event *ev, ucontext_t *uc);
long memory_brk(struct event *ev, ucontext_t *uc);
long memory_mlockall(struct event *ev, ucontext_t *uc);
long memory_pkey_mprotect(struct event *ev, ucontext_t *uc);

/* For the agent: breakpoints in memory that is replaced. */
void memory_remapped(uint64_t at, size_t len);
bool memory_is_upper(uint64_t at, size_t len);
/* In a child after fork: MADV_WIPEONFORK. */
void memory_wipe_in_child(void);

/* Maps `len` bytes of an open file at `at` privately, as the program or the loader asks while recording:
 * the file goes to the store, its key into the log.  0 or -errno. */
long memory_map_file(uint64_t at, size_t len, int prot, int fd, uint64_t offset, char *key);
/* Files opened under `asked` are really `path` (our stub libraries). */
void memory_alias(const char *path, const char *asked);
/* The path by which the program knows a file. */
const char *memory_asked_for(const char *path);
/* Looks at the instructions there, if they may be run. */
void memory_look(uint64_t at, size_t len, int prot, const char *key, uint64_t offset);
#endif

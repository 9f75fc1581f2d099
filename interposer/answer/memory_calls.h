/* System calls that change the memory map.  Emulated, so that every run has the same addresses. */
#pragma once
#include "crossing/event.h"

long memory_mmap(struct event *ev, ucontext_t *uc);
long memory_munmap(struct event *ev, ucontext_t *uc);
long memory_mprotect(struct event *ev, ucontext_t *uc);
long memory_mremap(struct event *ev, ucontext_t *uc);
long memory_madvise(struct event *ev, ucontext_t *uc);
long memory_brk(struct event *ev, ucontext_t *uc);
long memory_mlockall(struct event *ev, ucontext_t *uc);

/* Call when something else, or nothing, is mapped there; when the same mapping holds other bytes. */
void memory_remapped(uint64_t at, size_t len);
void memory_other_bytes(uint64_t at, size_t len);
/* Is there nothing in a part of the range? */
bool memory_gap(uint64_t start, uint64_t end);
/* Unmaps the range, and then removes it from all tables of what is mapped. 0 or -errno. */
long memory_unmap(uint64_t at, size_t len);

/* Maps `len` bytes of an open file at `at` privately, for the program or the loader while recording: the file is copied
 * to the store, its key goes into the log. 0 or -errno. */
long memory_map_file(uint64_t at, size_t len, int prot, int fd, uint64_t offset, char *key);
/* Notes that a file opened as `asked` is really `path` (our stub libraries). */
void memory_alias(const char *path, const char *asked);
/* The path by which the program knows a file. */
const char *memory_asked_for(const char *path);
/* Examines the instructions there, if they are executable. */
void memory_look(uint64_t at, size_t len, int prot, const char *key, uint64_t offset);

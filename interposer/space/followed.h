/* Files that the program maps and also writes: a mapping shows what is written, also a private mapping where nothing
 * was stored. */
#pragma once
#include "log/parts.h"
#include "space/arena.h"

struct stat;
/* Has MPI opened this file for writing?  Then it may write to what is mapped, at any time. */
bool followed_mpi_writes(const struct stat *st);
/* While recording: must shared_memory.h handle a mapping of this file from the start?  Other mappings are handed over
 * when their file is written, which happens to few. */
bool followed_from_start(int fd, bool shared, int prot);
/* True for programs and libraries: they are replaced, not written, while they are mapped, so the stored copy stays
 * valid. */
bool followed_never(int fd);
/* While recording: mremap(2) of a mapped file, which then shows the file at its new place and, with keep
 * (MREMAP_DONTUNMAP), at the old one. -ENOENT: the file cannot be found. */
long followed_move(struct event *ev, const struct file_mapping *f, uint64_t old, size_t old_len, uint64_t at,
		   size_t new_len, int prot, bool keep);
/* Call when the event is about to end: from here on mappings of a file that it has written follow the file.  Also logs
 * what it has written to memory through /proc. */
void followed_written(struct event *ev);
/* The program maps this file shared and may store there. */
void followed_mapped(struct event *ev, int fd);

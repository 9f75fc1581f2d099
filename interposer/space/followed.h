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
/* After that: how often have others opened the file for writing?  UINT32_MAX: it is not to be followed. */
uint32_t followed_openings(uint64_t dev, uint64_t ino);
/* Says which of the mappings that show bytes of [start, end) others have changed since, without being of this rank.  Call
 * before they are unmapped, and at the end. */
void followed_look_for_outsiders(uint64_t start, uint64_t end);
int64_t followed_changed_ns(const struct stat *st);
/* In a child, before its recording begins. */
void followed_in_child(void);
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
/* Call before a system call is carried out.  True: from now on this process takes turns for a file, since the call writes
 * to it and others of the rank have it mapped. */
bool followed_before_write(const struct event *ev);
/* Call when an event is about to end: mappings of files that another process has opened for writing follow them. */
void followed_by_others(struct event *ev);
/* The program maps this file shared and may store there. */
void followed_mapped(struct event *ev, int fd);

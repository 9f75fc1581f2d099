/* Memory that is mapped shared: other processes may write to it, or the program may through the file.
 *
 * While recording it is really shared.  A shadow in lower memory holds its contents at the last event.  At every event
 * the differences are logged, including the program's own stores, which a replay makes again by itself.  So at every
 * event a replay, whose memory is private, has what the recording had.  A store of another process that the program
 * sees without an event in between cannot be replayed.  So processes of a rank take turns (floors.h), and the recording
 * carries a caution for memory that others have.
 */
#pragma once
#include "log/parts.h"

extern unsigned shared_regions; /* number of regions */

/* Maps a file while recording, and logs its contents.  Also for MAP_PRIVATE: where the program has not stored yet the
 * mapping shows later writes to the file. 0 or -errno. */
long shared_map(struct event *ev, uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset);
/* mremap(2) of such a mapping. keep: MREMAP_DONTUNMAP of a private one, whose old place shows the file again. */
long shared_move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len, bool keep);
struct file_mapping;
/* A file that was only read is now written: from this event on its private mapping is a region here. */
void shared_follow(struct event *ev, const struct file_mapping *f, int fd);
struct stat;
/* Does a mapping change with this file? */
bool shared_is_followed(const struct stat *st);
void shared_files_each(void (*fn)(uint64_t dev, uint64_t ino));
/* MPI has opened this file for writing: its mappings may change at any time, so they are compared at every event. */
void shared_mpi_writes(const struct stat *st);
/* The memory there was mapped shared by mremap or shmat: adds it as a region. */
void shared_adopt(struct event *ev, uint64_t at, size_t len, int kind);
/* After a restart, when a recording begins: adds all shared memory, as memory that others may write. */
void shared_adopt_mapped(int (*kind_of)(uint64_t start));

void shared_unmapped(uint64_t start, uint64_t end);
/* What is left of the segment that was attached at `start` (ipc/shm.c, ksys_shmdt): the first part from `from` on, and
 * its end; 0: none. */
uint64_t shared_attached(uint64_t start, uint64_t from, uint64_t *end);
bool shared_at(uint64_t addr);
bool shared_within(uint64_t start, uint64_t end);
/* End of the private mapping there that follows its file; 0: none. */
uint64_t shared_followed_until(uint64_t at);
/* Can others write to part of [start, end) at any time? */
bool shared_contested(uint64_t start, uint64_t end);
/* Adds the shared parts of [start, end) as notes of the event. */
void shared_note_parts(struct event *ev, uint64_t start, uint64_t end);

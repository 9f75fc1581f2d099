/* Memory that is mapped shared: other processes may write to it, or the program may through the file.
 *
 * While recording it is really shared.  A shadow in lower memory holds its contents at the last event.  At every event
 * the differences are logged, including the program's own stores, which a replay makes again by itself.  So at every
 * event a replay, whose memory is private, has what the recording had.  A store of another process that the program
 * sees without an event in between cannot be replayed.  So processes of a rank take turns (floors.h), and the recording
 * carries a caution for memory that others have.
 */
#ifndef RDB_SHARED_MEMORY_H
#define RDB_SHARED_MEMORY_H
#include "log/parts.h"

extern unsigned shared_regions; /* number of regions */

/* Can the contents of the file change while it is mapped?  Not if it is an ordinary file on disk that the program can
 * only read.  If so, a MAP_SHARED mapping must really be shared. */
bool shared_volatile(int fd);
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
/* In replay: adds the aliases of what this event has mapped or begins to follow. */
void shared_aliases_recorded(void);
/* In replay: was the mapping of this event shared?  Then maps it with its contents, and sets *rc. */
bool shared_map_recorded(uint64_t at, size_t len, int prot, long *rc);
/* In replay: did the event leave such a mapping at its old place?  Then maps it again.  Call before
 * shared_map_recorded(), which fills it. */
bool shared_left_recorded(uint64_t at, size_t len);

void shared_unmapped(uint64_t start, uint64_t end);
uint64_t shared_detached(uint64_t start); /* removes the whole region that starts there; its end, 0: none */
bool shared_at(uint64_t addr);
bool shared_within(uint64_t start, uint64_t end);
/* End of the private mapping there that follows its file; 0: none. */
uint64_t shared_followed_until(uint64_t at);
/* Can others write to part of [start, end) at any time? */
bool shared_contested(uint64_t start, uint64_t end);
/* Adds the shared parts of [start, end) as notes of the event; in replay: is addr in such a part? */
void shared_note_parts(struct event *ev, uint64_t start, uint64_t end);
bool shared_noted(uint64_t addr, uint64_t *end);

/* A record has the time from before memory was compared: stores that others had made by then have been seen.
 * RDB_NOTE_ASKED is for calls that took longer than this: the stores that the program had made before the question have
 * been seen by all others that compared later. */
enum { SHARED_QUICK_NS = 20000 };
uint64_t shared_clock_ns(void);

/* Logs what has changed. shared_sync() is called when an event ends; calls that change the map call
 * shared_sync_before() before they do. */
void shared_sync(struct event *ev);
void shared_sync_before(struct event *ev);
/* Call before a call that may write to files is passed on. */
void shared_before_write(struct event *ev);
/* Call in the parent before a fork: from here on another process has the memory. */
void shared_before_fork(void);
/* The keys (floors.h) of all memory that others of the rank may write, up to `most` of them, and their number. */
unsigned shared_keys(uint64_t *keys, unsigned most);
/* Has more such memory come since they were asked for? */
bool shared_keys_due(void);
/* The key of a file or segment that is about to be mapped; 0: no turns are taken for it. */
uint64_t shared_key_of_file(int fd);
uint64_t shared_key_of_segment(int id, size_t len);
/* Other processes run from here on: all that this one has stored itself counts as seen. */
void shared_settle(void);
/* They have run: the next event compares all memory that they may have written. */
void shared_others_ran(void);
/* In the child: does it have memory that others may write? */
bool shared_forked(void);
/* Call in the child, before its recording begins. */
void shared_in_child(void);
/* Copies the page as a replay will have it.  False: not shared. */
bool shared_page(uint64_t at, void *page);
/* The end of the untouched memory from `at` on: it is zero, and reading it would allocate memory. */
uint64_t shared_zero_until(uint64_t at);
/* A copy of the memory as the log has it, which others cannot change; NULL: not shared. */
const void *shared_as_logged(uint64_t at);
/* Call before and after the fork of a child that writes an image, while the program may store: keeps the present
 * contents of what is not compared at every event. */
void shared_freeze(void);
void shared_restore(void);
/* Cautions for memory that processes have which do not take turns with this one.  Call before the program ends. */
void shared_look_for_outsiders(void);
/* Can memory be hashed now?  Not if it may have changed since it was last compared. */
bool shared_hashable(void);
/* Likewise at the end of the recording, where nothing can be logged any more. */
bool shared_hashable_at_end(void);

/* In replay: stores bytes that an event found in memory. */
void shared_apply(uint64_t addr, const void *data, size_t len);
/* In replay: stores bytes as the program does through /proc/self/mem. */
void shared_force(uint64_t addr, const void *data, size_t len);
/* While recording: unmaps memory when the event has ended. */
void shared_retire(char *begin, size_t len);
struct log_record;
/* Text for a divergence before the recorded event `next`: which stores of others were seen since event `agreed`, at
 * which memory agreed; "": none. */
const char *shared_suspicion(const struct log_record *next, uint64_t agreed);

long shared_shmat(struct event *ev, ucontext_t *uc);
long shared_shmdt(struct event *ev, ucontext_t *uc);

#endif

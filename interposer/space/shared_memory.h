/* Memory that is mapped shared: others may write it, or the program may through the file.
 *
 * While recording it is really shared.  A shadow in lower memory holds what it held at the last event; at
 * every event what differs is logged, the program's own stores among it, which a replay makes again by
 * itself.  So a replay, where the memory is private, has at every event what the recording had.  Stores
 * of others that the program sees without any event in between cannot be replayed: where they are possible
 * the recording carries a caution.
 */
#ifndef RDB_SHARED_MEMORY_H
#define RDB_SHARED_MEMORY_H
#include "log/parts.h"

extern unsigned shared_regions; /* how many there are */

/* May the content of the file change while it is mapped?  Not if the program can only read it, and it is an
 * ordinary one on a disk.  A MAP_SHARED mapping of it must then really be shared. */
bool shared_volatile(int fd);
/* Maps it while recording: content and all go into the log.  Privately, too: where the program has not stored yet it
 * shows what is written to the file meanwhile.  0 or -errno. */
long shared_map(struct event *ev, uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset);
/* mremap(2) of such a mapping.  KEEP: MREMAP_DONTUNMAP of a private one, whose old place shows the file again. */
long shared_move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len, bool keep);
struct file_mapping;
/* A file that was only read is written: its private mapping is one of those from this event on. */
void shared_follow(struct event *ev, const struct file_mapping *f, int fd);
struct stat;
/* Is there a mapping that changes with this file? */
bool shared_is_followed(const struct stat *st);
void shared_files_each(void (*fn)(uint64_t dev, uint64_t ino));
/* MPI has opened this file for writing: its mappings change at any time, so they are compared at every event. */
void shared_mpi_writes(const struct stat *st);
/* The memory there is shared and mapped, by mremap or shmat: the same. */
void shared_adopt(struct event *ev, uint64_t at, size_t len, int kind);
/* A restart has mapped it, and a recording begins: all there is, as what others may write. */
void shared_adopt_mapped(int (*kind_of)(uint64_t start));
/* In replay: the aliases of what this event has mapped, or begins to follow. */
void shared_aliases_recorded(void);
/* In replay: was the mapping that this event made shared?  Then it is mapped, with its content. */
bool shared_map_recorded(uint64_t at, size_t len, int prot, long *rc);
/* In replay: has the event left such a mapping there?  Then it is mapped anew, before the one above, which fills it. */
bool shared_left_recorded(uint64_t at, size_t len);

void shared_unmapped(uint64_t start, uint64_t end);
void shared_detached(uint64_t start); /* all of the region that starts there */
bool shared_at(uint64_t addr);
bool shared_within(uint64_t start, uint64_t end);
/* The end of the private mapping there that follows its file; 0: there is none. */
uint64_t shared_followed_until(uint64_t at);
/* May others write to some of [start, end) at any time? */
bool shared_contested(uint64_t start, uint64_t end);
/* Shared parts of [start, end), as notes of the event; and in replay, whether addr is in one. */
void shared_note_parts(struct event *ev, uint64_t start, uint64_t end);
bool shared_noted(uint64_t addr, uint64_t *end);

/* RDB_NOTE_ASKED is of calls that took longer: of what the program had stored before one was asked for, others that looked later
 * have seen all. */
enum { SHARED_QUICK_NS = 20000 };
uint64_t shared_clock_ns(void);

/* Logs what has changed.  Called when an event ends; calls that change the map call it before they do. */
void shared_sync(struct event *ev);
void shared_sync_before(struct event *ev);
/* Called before a call that may write to files is passed on. */
void shared_before_write(struct event *ev);
/* The parent is about to fork: from here on there is somebody else. */
void shared_before_fork(void);
/* In the child, before its recording begins. */
void shared_in_child(void);
/* The page as a replay will have it.  False: no such page. */
bool shared_page(uint64_t at, void *page);
/* From `at` on to here nobody has touched it: it is zero, and stays without memory if it is not looked at. */
uint64_t shared_zero_until(uint64_t at);
/* Where it is as the log has it, which others cannot change; NULL: it is not shared. */
const void *shared_as_logged(uint64_t at);
/* Around the fork of a child that writes an image, while the program may store there: what is not looked at at every
 * event is kept as it is now. */
void shared_freeze(void);
void shared_thaw(void);
/* Can memory be hashed now, or may it have changed since it was last looked at? */
bool shared_hashable(void);
/* Can it at the end of the recording, where nothing can be logged any more? */
bool shared_hashable_at_end(void);

/* In replay: stores bytes that an event found there. */
void shared_apply(uint64_t addr, const void *data, size_t len);
/* In replay: stores bytes as the program does through /proc/self/mem. */
void shared_force(uint64_t addr, const void *data, size_t len);
/* While recording: memory that is given back only when the event has ended. */
void shared_retire(char *begin, size_t len);
struct log_record;
/* For the text of a divergence before the recorded event `next`: what others were seen to write since memory agreed, at event
 * `agreed`; "": nothing. */
const char *shared_suspicion(const struct log_record *next, uint64_t agreed);

long shared_shmat(struct event *ev, ucontext_t *uc);
long shared_shmdt(struct event *ev, ucontext_t *uc);

#endif

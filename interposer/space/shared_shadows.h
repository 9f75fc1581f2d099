/* Copies of shared memory: its contents at the last event, with which the next event compares it. */
#pragma once
#include "space/shared_regions.h"

enum { SHADOW_BATCH = 64 << 10 };
extern uint64_t shadow_buffer[SHADOW_BATCH / 8];

/* New memory with zeros. */
char *shadow_memory(size_t len);
/* Reads what the region has there now.  Bytes beyond the end of the file count as zero. */
void region_fetch(const struct region *r, uint64_t off, void *to, size_t len);
/* Is a batch as in the shadow?  Reads the memory in place, which costs a tenth of region_fetch(). */
bool region_same(const struct region *r, uint64_t off, size_t len);
/* The size of the batch at `off`. */
size_t region_batch(const struct region *r, uint64_t off);
/* The first batch from `off` on that may have been touched, and is not behind the end of the file.  Reading untouched
 * batches would allocate memory. */
uint64_t region_touched(const struct region *r, uint64_t off);
/* Has the program stored in that page of a private mapping? */
bool region_is_own(const struct region *r, uint64_t at);
/* Copies the memory to the shadow; with an event, logs what is not zero as notes.  fd: the file, just mapped, or -1. */
void region_copy(struct region *r, int fd, struct event *ev);
/* Updates the shadow.  True: it was up to date. */
bool region_refresh(struct region *r);

/* Keeps the nonzero lines of a page: they are logged even if they have not changed. */
void lines_keep(uint64_t page, const char *bytes);
void lines_log(struct event *ev, const struct region *r);
/* The lines of `from` are those of `to` from now on. */
void lines_move(const struct region *from, struct region *to);

/* While recording: unmaps memory when the event has ended. */
void shared_retire(char *begin, size_t len);
void shadows_drop_retired(void);

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

/* Memory that a device writes by itself: regions registered with a real HCA.
 *
 * They stay where they are, and what the device writes is in the program's
 * memory at once.  As with memory shared with other processes (shared_memory.h)
 * a shadow holds what was there at the last event at which it was looked at;
 * what differs is logged with the event, the program's own stores among it.  It
 * is looked at where the program can have been told that something has come: at
 * completions (only what they tell of, but for memory that others write), and at calls that may wait.  So a program that waits for
 * completions is replayed exactly.  One that looks at memory without asking
 * sees what a replay does not have yet: where it does nothing but look, looks.h
 * gives it to the replay in time; else a caution says that the replay may
 * differ.
 */
#ifndef RDB_DEVICE_MEMORY_H
#define RDB_DEVICE_MEMORY_H
#include "log/parts.h"

extern unsigned device_regions; /* how many there are */

/* host->device_memory */
void device_memory(struct event *ev, void *addr, size_t len, bool remote, bool begin);
/* host->device_told */
void device_memory_told(void *addr, size_t len);
/* What was registered at the cut of a restart, now that there is a log. */
void device_memory_live(void);
/* host->forks_break_dma */
void device_memory_forks_break(void);
/* May this process be forked for an image? */
bool device_memory_may_fork(void);
/* What was mapped there is there no more, or protected otherwise. */
void device_memory_gone(uint64_t start, uint64_t end);
/* At the end of an event: logs what has changed. */
void device_memory_sync(struct event *ev);
/* Has all of it been looked at at the present event?  If not, it will be at the next one. */
bool device_memory_settled(void);
/* Is there any between these? */
bool device_memory_in(uint64_t start, uint64_t end);
/* The page as a replay has it at the present event, or NULL: none of these. */
const void *device_page(uint64_t at);
/* In a child that writes an image: memory becomes what a replay has. */
void device_memory_settle(void);
/* In a forked child devices write nothing: what it has is its own. */
void device_memory_in_child(void);

#endif

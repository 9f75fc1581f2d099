/* Memory that a device writes by itself: regions registered with a real HCA.
 *
 * The regions stay in place, and what the device writes is in the program's memory at once.  As for memory shared with
 * other processes (shared_memory.h), a shadow holds the contents at the last event at which the region was compared.
 * What differs is logged with the event, the program's own stores included.  Regions are compared where the program can
 * have been told that data has come: at completions (only the reported buffers, and memory that other ranks write) and
 * at calls that may wait.  So a program that waits for completions is replayed exactly.  A program that reads memory
 * without asking sees what a replay does not have yet.  If it only polls, poll_replay.h gives the data to the replay in
 * time; else a caution says that the replay may differ.
 */
#pragma once
#include "log/parts.h"

extern unsigned device_regions; /* number of regions */

/* host->device_memory */
void device_memory(struct event *ev, void *addr, size_t len, bool remote, bool begin);
/* host->device_told */
void device_memory_told(void *addr, size_t len);
/* Adds what was registered at the cut of a restart, when there is a log. */
void device_memory_live(void);
/* host->forks_break_dma */
void device_memory_forks_break(void);
/* May this process be forked for an image? */
bool device_memory_may_fork(void);
/* The memory was unmapped, or its protection has changed. */
void device_memory_gone(uint64_t start, uint64_t end);
/* At the end of an event: logs what has changed. */
void device_memory_sync(struct event *ev);
/* Were all regions compared at the present event?  If not, they will be at the next one. */
bool device_memory_settled(void);
/* Is there registered memory in [start, end)? */
bool device_memory_in(uint64_t start, uint64_t end);
/* The page as a replay has it at the present event; NULL: not registered. */
const void *device_page(uint64_t at);
/* In a child that writes an image: makes memory what a replay has. */
void device_memory_settle(void);
/* In a forked child: forgets all regions, since devices do not write to a child's memory. */
void device_memory_in_child(void);

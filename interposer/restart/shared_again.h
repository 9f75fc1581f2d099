/* Shared memory at the cut of a tree (tree.h).  In a replay each process has its own copy of it, with what it had seen
 * at its last event.  At the cut there is one again, for all that had it: what whoever looked last has seen, and what the
 * others have stored since they looked.
 *
 * For that a process that shares memory is cut where it asks for its next call, not right after its last event: all
 * that another can have seen of it by the time of the cut was stored before.  What a process has stored itself, its
 * replay tells: what differs from what it was given. */
#ifndef RDB_SHARED_AGAIN_H
#define RDB_SHARED_AGAIN_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From its plan (rdb/live/tree/shared.py): PROCESS-PROGRAM-shared. */
void shared_again_begin(void);
/* The log is about to answer; it has (true: this was the last event, and the cut is where it asks for more); and it
 * has brought bytes that others may have written. */
void shared_again_asked(void);
bool shared_again_answered(void);
void shared_again_applied(uint64_t addr, const void *was, const void *bytes, size_t len);
/* Where it asks for a system call: true if that is the cut. */
bool shared_again_cut(uint32_t nr, const uint64_t args[6]);

/* In this order, with all waiting for each other in between. */
void shared_again_tell(void);
void shared_again_make(void);
void shared_again_map(void);
void shared_again_mapped(void);

/* enum shared_kind of the mapping that begins there. */
int shared_again_kind(uint64_t start);
/* The number that a segment of System V, known by this one, has now. */
uint64_t shared_segment_now(uint64_t known);

#endif

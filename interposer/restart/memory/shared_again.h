/* Shared memory at the cut of a tree (tree.h).  In a replay each process has its own copy, with what it had seen at its
 * last event.  At the cut there is one memory again, for all that had it: what the process that looked last has seen,
 * and what the others have stored since they looked.
 *
 * For that a process that shares memory is cut where it asks for its next call, not right after its last event: all
 * that another can have seen of it by the time of the cut was stored before.  The replay of a process tells what that
 * process has stored: what differs from what it was given. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the process's plan (rdb/live/tree/shared.py): PROCESS-PROGRAM-shared. */
void shared_again_begin(void);
/* shared_again_asked(): the log is about to answer.  shared_again_answered(): it has; true: this was the last event,
 * and the cut is where the process asks for more.  shared_again_applied(): it has brought bytes that others may have
 * written. */
void shared_again_asked(void);
bool shared_again_answered(void);
void shared_again_applied(uint64_t addr, const void *was, const void *bytes, size_t len);
/* The process asks for a system call: true if that is the cut. */
bool shared_again_cut(uint32_t nr, const uint64_t args[6]);

/* To be called in this order; between two calls all processes wait for each other. */
void shared_again_tell(void);
void shared_again_make(void);
void shared_again_map(void);
void shared_again_mapped(void);

/* enum shared_kind of the mapping that begins there. */
int shared_again_kind(uint64_t start);
/* The present number of a System V segment that the program knows by `known`. */
uint64_t shared_segment_now(uint64_t known);

/* Who writes to the log, and how writing ends: a signal may kill the program in one thread while another one
 * appends. */
#pragma once
#include "base/lower.h"

struct thread;
extern struct thread *volatile log_user;

/* Around everything that writes to the log.  False: the recording has ended.
 * No barrier here orders log_user before `ended`: the thread that ends the recording makes one for all. */
static inline bool log_begin(struct thread *self)
{
	log_user = self;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(!lower.ended, 1))
		return true;
	log_user = NULL;
	return false;
}

static inline void log_done(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	log_user = NULL;
}

/* The caller has a record for a recording that has ended: waits for the end of the process.  Returns if the program
 * goes on unrecorded, or if the caller ended the recording. */
void ending_await(void);
/* A signal handler: the calling thread is in the middle of writing to the log or of ending it. */
bool ending_busy(void);
/* In a forked child: until it has a log of its own a signal that kills waits. */
void ending_waits(bool child_begins);
/* Logs the hash of memory where the recording is about to end: only where a replay comes to the same
 * place by itself (before exit, a fault, a signal sent to oneself). */
void boundary_final_hash(void);
/* Ends the recording; later calls do nothing. */
void boundary_end(enum log_end how, int64_t value, const char *text);
/* The same for rdb_fatal(). */
void boundary_end_unsupported(int exit_code, const char *text);
/* The same when a signal from outside kills the program. */
void boundary_killed(int sig);
/* In a child after fork: another thread may just have ended its parent's recording. */
void ending_forked(void);

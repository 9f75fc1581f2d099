/* Who writes to the log, and how writing ends: a signal may kill the program in one thread while another one appends. */
#ifndef RDB_ENDING_H
#define RDB_ENDING_H
#include "base/lower.h"

struct thread;
extern struct thread *volatile log_user;

/* Around everything that writes to the log.  False: the recording has ended.
 * That log_user is seen before `ended` is asked for takes no barrier here: who ends the recording makes one for all. */
static inline bool log_begin(struct thread *self)
{
	log_user = self;
	__asm__ volatile("" ::: "memory");
	if (__builtin_expect(!lower.ended, 1))
		return true;
	log_user = NULL;
	return false;
}

static inline void log_done(void)
{
	__asm__ volatile("" ::: "memory");
	log_user = NULL;
}

/* The caller, who has a record for a recording that has ended, waits for the end of the process; it comes back if the
 * program goes on unrecorded, or if it was the caller that ended it. */
void ending_await(void);
/* A signal handler: the calling thread is in the middle of writing to the log or of ending it. */
bool ending_busy(void);
/* Logs the hash of memory where the recording is about to end: only where a replay comes to the same
 * place by itself (before exit, a fault, a signal sent to oneself). */
void boundary_final_hash(void);
/* Ends the recording; later calls do nothing. */
void boundary_end(enum log_end how, int64_t value, const char *text);
/* As rdb_fatal() ends it. */
void boundary_end_unsupported(int exit_code, const char *text);
/* The same: a signal from outside kills the program, which is no thread's doing. */
void boundary_killed(int sig);
/* In a child after fork: another thread may just have ended its parent's recording. */
void ending_forked(void);

#endif

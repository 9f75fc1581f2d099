#include "crossing/ending.h"
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include "crossing/boundary.h"
#include "log/log_writer.h"
#include "space/device_memory.h"
#include "space/followed.h"
#include "space/shared_memory.h"
#include "space/shared_outsiders.h"
#include "space/shared_sync.h"
#include "crossing/source.h"
#include "crossing/schedule.h"
#include "base/thread.h"

struct thread *volatile log_user;

static struct thread *ender;
static enum log_end ended_how;
static volatile bool becoming; /* a child that has its parent's log still */

/* After this no other thread writes to the log or begins to.  membarrier(2) is the barrier that log_begin() leaves
 * out.  If a filter forbids it, the other processors have at least the time that the call takes. */
static void await_user(void)
{
	if (schedule->held())
		return; /* so no other thread writes */
	raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
	raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
	while (log_user && log_user != thread_self())
		sched_yield();
}

/* False: another thread ends the recording, or has done so. */
static bool claim(enum log_end how)
{
	struct thread *nobody = NULL;
	if (!__atomic_compare_exchange_n(&ender, &nobody, thread_self(), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	ended_how = how;
	__atomic_store_n(&lower.ended, true, __ATOMIC_SEQ_CST);
	await_user();
	return true;
}

void ending_await(void)
{
	if (ender == thread_self())
		return;
	while (recording())
		raw_syscall(SYS_poll, 0, 0, 1, 0, 0, 0);
}

bool ending_busy(void)
{
	const struct thread *self = thread_self();
	return becoming || log_user == self || (ender == self && recording());
}

void ending_waits(bool child_begins)
{
	becoming = child_begins;
}

void boundary_final_hash(void)
{
	if (!lower.ended)
		followed_look_for_outsiders(0, UINT64_MAX);
	if (shared_regions && !lower.ended)
		shared_look_for_outsiders();
	if (recording() && lower.started && !lower.ended && !device_regions &&
	    (!shared_regions || shared_hashable_at_end()))
		event_hash(LOG_HASH_AT_END);
}

static void end(enum log_end how, int64_t value, const char *text, bool killed)
{
	schedule->leave();
	if (how == LOG_END_EXIT || how == LOG_END_EXEC)
		source->leaves();
	/* without a recording the log says what the program is, and how it ended */
	const bool logged = recording() || (coordinating() && how != LOG_END_EXEC);
	if (!logged || claim(how)) {
		lower.killed |= logged && killed;
		if (lower.mode->end)
			lower.mode->end(how);
		if (logged)
			log_end(how, value, text);
	} else if (how != LOG_END_SIGNAL || ended_how != LOG_END_EXEC) {
		/* no wait for an execve(2) of another thread: the next program would not get this signal */
		if (log_user == thread_self())
			log_done();
		ending_await();
	}
}

void boundary_end(enum log_end how, int64_t value, const char *text)
{
	end(how, value, text, false);
}

void boundary_end_unsupported(int exit_code, const char *text)
{
	end(LOG_END_UNSUPPORTED, exit_code, text, false);
}

void boundary_killed(int sig)
{
	end(LOG_END_SIGNAL, sig, NULL, true);
}

void ending_forked(void)
{
	ender = log_user = NULL;
	lower.ended = false;
}

#include "task/timer_calls.h"
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/lower.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"

enum { TRIES = 100000, OTHERS = 16 };

/* Lets a timer of ours go off, and deletes it: does the kernel drop its signal?  With all signals blocked. */
static bool sent_are_dropped(void)
{
	static char cookie;
	const uint64_t one = BIT(SIGNALS_REMINDER);
	const struct timespec now = {0};
	const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
	const long self = thread_self()->carrier;
	struct itimerspec left = {.it_value = {.tv_nsec = 1}};
	struct sigevent how = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNALS_REMINDER, .sigev_value.sival_ptr = &cookie};
	siginfo_t info;
	int32_t timer;
	bool dropped = true;
	how._sigev_un._tid = (pid_t)self;
	if (raw_syscall(SYS_timer_create, CLOCK_MONOTONIC, (long)&how, (long)&timer, 0, 0, 0))
		return false;
	raw_syscall(SYS_timer_settime, timer, 0, (long)&soon, 0, 0, 0);
	for (unsigned i = 0; i < TRIES && (left.it_value.tv_sec || left.it_value.tv_nsec); i++)
		raw_syscall(SYS_timer_gettime, timer, (long)&left, 0, 0, 0, 0);
	raw_syscall(SYS_timer_delete, timer, 0, 0, 0, 0, 0);
	for (unsigned i = 0; dropped && i < OTHERS; i++) {
		if (raw_syscall(SYS_rt_sigtimedwait, (long)&one, (long)&info, (long)&now, 8, 0, 0) != SIGNALS_REMINDER)
			break;
		dropped = info.si_value.sival_ptr != &cookie;
		if (dropped) /* another timer's signal, which came before: to the end of the queue */
			raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, self, SIGNALS_REMINDER, (long)&info, 0, 0);
	}
	return dropped;
}

long timer_set_or_deleted(long nr, const uint64_t args[6])
{
	static enum { UNKNOWN, DROPPED, STAY } kernel;
	sigset_t mask;
	lower_block_signals(&mask); /* what is kept here was sent before the call */
	const long rc = raw_syscall(nr, (long)args[0], (long)args[1], (long)args[2], (long)args[3], (long)args[4],
				    (long)args[5]);
	if (!kernel) /* after the call: it takes a moment */
		kernel = sent_are_dropped() ? DROPPED : STAY;
	if (!rc && kernel == DROPPED)
		signal_forget_timer((int)args[0]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (!rc)
		signals_sync_kernel(thread_self());
	return rc;
}

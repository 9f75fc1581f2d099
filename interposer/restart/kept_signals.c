#include "restart/kept_signals.h"
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include "restart/timers.h"
#include "answer/process.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"

/* What waits in the kernel, with all signals blocked, waits here instead; not what is read by a descriptor. */
static bool taken(uint64_t by_descriptor)
{
	const struct timespec at_once = {0};
	bool any = false;
	uint64_t set = 0;
	siginfo_t info;
	while (!raw_syscall(SYS_rt_sigpending, (long)&set, 8, 0, 0, 0, 0) &&
	       (set &= ~(by_descriptor | BIT(SIGNALS_REMINDER)))) {
		long sig = raw_syscall(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&at_once, 8, 0, 0);
		if (sig <= 0)
			break;
		signal_keep((int)sig, &info, thread_self());
		any = true;
	}
	if (any)
		signals_remind(thread_self());
	return any;
}

/* A timer has its signal on its way, or some time left. */
int kept_signals_look(struct state_head *head, struct kept_signals *kept)
{
	const uint64_t by_descriptor = signals_read_by_descriptor() & thread_self()->upper.sigmask;
	sigset_t before;
	int timers;
	lower_block_signals(&before);
	do {
		taken(by_descriptor);
		timers = posix_timers_look(kept->timers, POSIX_TIMERS);
		timers_look(head->timers);
	} while (taken(by_descriptor));
	raw_syscall(SYS_rt_sigpending, (long)&head->pending, 8, 0, 0, 0, 0);
	head->pending &= by_descriptor;
	head->signals_len = signals_kept(thread_self(), kept->signals) * sizeof(kept->signals[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (timers < 0)
		return timers;
	head->timers_len = (uint64_t)timers * sizeof(kept->timers[0]);
	return 0;
}

#include "restart/checkpoint/kept_signals.h"
#include <signal.h>
#include <sys/syscall.h>
#include "restart/process/timers.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"

/* Moves what waits in the kernel, with all signals blocked, to our own queue, except what a descriptor reads. */
static bool taken(uint64_t by_descriptor)
{
	bool any = false;
	struct kept_signal one;
	while (kept_signal_from_kernel(~(by_descriptor | BIT(SIGNALS_REMINDER)), &one)) {
		signal_keep(one.info.si_signo, &one.info, one.thread == SIGNAL_FOR_ANY ? NULL : thread_self());
		any = true;
	}
	for (struct thread *t = any ? threads_first() : NULL; t; t = t->next)
		if (signal_due(t))
			signals_remind(t);
	return any;
}

/* Signals for a descriptor stay in the kernel; the only way to look at them is to take them. */
static int by_descriptor_too(uint64_t set, struct table *list)
{
	const size_t from = list->len;
	struct kept_signal one;
	int rc = 0;
	while (!rc && kept_signal_from_kernel(set, &one))
		rc = table_add(list, &one, sizeof(one));
	if (rc)
		kept_signal_to_kernel(&one);
	for (size_t at = from; at < list->len; at += sizeof(one))
		kept_signal_to_kernel((const struct kept_signal *)(list->base + at));
	return rc;
}

/* Looks again until nothing arrives: a timer either has its signal on the way, or some time left. */
int kept_signals_look(struct state_head *head, struct kept_signals *kept)
{
	const uint64_t by_descriptor = signals_wait_in_kernel() & thread_self()->upper.sigmask;
	sigset_t before;
	int timers;
	lower_block_signals(&before);
	do {
		taken(by_descriptor);
		timers = posix_timers_look(kept->timers, POSIX_TIMERS);
		timers_look(head->timers);
	} while (taken(by_descriptor));
	kept->signals.len = 0;
	int rc = by_descriptor_too(by_descriptor, &kept->signals);
	if (!rc)
		rc = signals_kept(&kept->signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (timers < 0 || rc)
		return timers < 0 ? timers : rc;
	head->signals_len = kept->signals.len;
	head->timers_len = (uint64_t)timers * sizeof(kept->timers[0]);
	return 0;
}

/* What a checkpoint without a log keeps of signals: those that the program has not got yet, and timers that send some. */
#ifndef RDB_KEPT_SIGNALS_H
#define RDB_KEPT_SIGNALS_H
#include "restart/coordinated.h"
#include "restart/posix_timers.h"
#include "task/signal_queue.h"

struct kept_signals {
	struct posix_timer timers[POSIX_TIMERS];
	siginfo_t signals[SIGNALS_KEPT];
};

/* In the head: how much of each, and what is there once.  0 or -errno. */
int kept_signals_look(struct state_head *head, struct kept_signals *kept);

#endif

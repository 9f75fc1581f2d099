/* The signals of a checkpoint without a log: those that the program has not got yet, and timers that send some. */
#pragma once
#include "restart/checkpoint/coordinated.h"
#include "restart/process/posix_timers.h"
#include "task/signal_queue.h"

struct kept_signals {
	struct posix_timer timers[POSIX_TIMERS];
	struct table signals; /* struct kept_signal */
};

/* Fills in the head: the lengths, and the interval timers.  0 or -errno. */
int kept_signals_look(struct state_head *head, struct kept_signals *kept);

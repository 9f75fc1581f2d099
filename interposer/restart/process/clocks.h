/* The clocks of a program that is brought back go on: processor time from where it was, the monotonic ones by the time
 * that has passed since then.  None goes back (clock_getres(2), times(2), getrusage(2)). */
#pragma once
#include "base/clocks.h"
#include "crossing/event.h"

struct clocks_then {
	char which[CLOCKS_WHICH];
	int64_t real;                   /* CLOCK_REALTIME */
	int64_t monotonic, boot, ticks; /* the kernel's */
	struct clocks known;            /* what all of them showed the program */
};

/* For checkpoints without a log. */
void clocks_look(struct clocks_then *then);
void clocks_from(const struct clocks_then *then);
/* On the way to a cut: what the program is told of its processor time. */
void clocks_syscall(const struct event *ev);
void clocks_answered(const struct log_record *rec);
/* At the cut, which is at that time by the recording's clock. */
void clocks_cut(uint64_t now_ns);

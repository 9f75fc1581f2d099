/* When checkpoints without a log are due by the clock: every so often, or as often as is best for what they cost. */
#pragma once
#include <stdint.h>

/* Begins to count now.  The signal comes to the one rank that asks for all (SIGNALS_CHECKPOINT, from a timer). */
void interval_begin(uint64_t cost_ns);
void interval_forked(void);

/* The short way to read a clock. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* From gate.S, on the lower stack with the program's thread pointer and vector registers: nanoseconds of the
 * clock, recorded, or CLOCK_NOT_FAST: nothing was done, the general way is to be taken. */
int64_t clock_fast(uint64_t clock);
#define CLOCK_NOT_FAST INT64_MIN
/* The same, but with a context like that of a signal: a thread that others wait for may be moved on (polling.h). */
#define CLOCK_ON_CONTEXT (INT64_MIN + 1)
/* The short way may be taken again for a while. */
void clock_fast_again(void);

extern struct clock_fast {
	unsigned left;   /* events until the general way is due */
	bool unrecorded; /* nothing is recorded: clocks are only read */
	int (*read)(clockid_t clock, struct timespec *ts);
	int64_t more_ns[2];   /* what the program's clock is ahead of the kernel's (base/clocks.h) */
	uint64_t ahead_ns[2]; /* CLOCK_REALTIME minus this clock, for CLOCK_REALTIME and CLOCK_MONOTONIC */
} clock_fast_;

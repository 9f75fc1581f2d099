/* How far the program's clocks are ahead of the kernel's, in ns: a program that is brought back goes on by its own, which
 * the kernel has begun anew (another machine, another process). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct processor_time {
	int64_t user, system;
};

struct clocks {
	int64_t monotonic, boot; /* CLOCK_MONOTONIC and its kin, CLOCK_BOOTTIME */
	int64_t ticks;           /* what times(2) returns, in its unit */
	struct processor_time self, children;
};

enum { CLOCKS_WHICH = 64, CLOCKS_TICK = 1000000000 / 100 /* times(2): ns, with USER_HZ */ };

/* Tells the monotonic clocks of one boot and time namespace from all others. */
void clocks_which(char out[CLOCKS_WHICH]);

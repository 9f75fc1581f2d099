/* The program's clocks in system calls, where they are ahead of the kernel's (base/clocks.h): deadlines before the call,
 * times in its answer. */
#pragma once
#include <stdint.h>
#include <time.h>

/* What the kernel reads instead of the program's memory. */
struct clock_room {
	struct itimerspec time;
};

/* By how much, in ns. */
int64_t clock_ahead(clockid_t clock);
/* A time of the program's clock, not zero, by the kernel's. */
struct timespec clock_deadline(clockid_t clock, struct timespec t);
/* Before pids_in(): it looks at clocks as the program names them. */
void clocks_in(uint64_t nr, uint64_t args[6], struct clock_room *room);
/* args: as the program made the call. */
int64_t clocks_out(uint64_t nr, const uint64_t args[6], int64_t result);

/* To be preloaded: a machine that takes the processor away for 2.5 ms between two looks at the clock, each third time.
 * The clocks of processor time do not see it. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static atomic_long looks;

	if (syscall(SYS_clock_gettime, clock, now))
		return -1;
	if (clock == CLOCK_MONOTONIC) {
		long ns = now->tv_nsec + atomic_fetch_add(&looks, 1) / 3 * 2500000;
		now->tv_sec += ns / 1000000000;
		now->tv_nsec = ns % 1000000000;
	}
	return 0;
}

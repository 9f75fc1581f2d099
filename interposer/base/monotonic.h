/* The clocks by which the recorder measures its own times. */
#pragma once
#include <stdint.h>
#include <time.h>

/* 0: there is no such clock. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = {0};
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A time that the program gives.  More than nanoseconds can say is for ever, as for the kernel (ktime_set()). */
static inline uint64_t given_ns(time_t seconds, long ns)
{
	const uint64_t second = 1000000000;
	return (uint64_t)seconds >= INT64_MAX / second ? INT64_MAX : (uint64_t)seconds * second + (uint64_t)ns;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Processor time of the process. */
static inline uint64_t processor_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Processor time of this thread. */
static inline uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

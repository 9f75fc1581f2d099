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

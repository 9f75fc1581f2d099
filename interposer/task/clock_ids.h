/* The clock id of a process or thread contains its pid or tid (clock_getcpuclockid(3), pthread_getcpuclockid(3)).  A
 * restarted program knows those from before. */
#pragma once
#include <time.h>
#include "task/thread.h"

/* include/linux/posix-timers.h: ~number << 3, plus 4 for a thread; the lowest two bits choose the time, 3: a descriptor
 * instead */
enum { CLOCK_OF_THREAD = 4, CLOCK_KIND = 3, CLOCK_OF_USER = 1, CLOCK_OF_SCHED = 2 };

static inline clockid_t clock_id_now(clockid_t clock)
{
	const int number = ~(clock >> 3);
	if (clock >= 0 || (clock & CLOCK_KIND) == CLOCK_KIND || !number)
		return clock;
	return (clockid_t)(~(unsigned)threads_number_now((uint64_t)number) << 3 | ((unsigned)clock & 7));
}

static inline clockid_t clock_id_known(clockid_t clock)
{
	const int number = ~(clock >> 3);
	if (clock >= 0 || (clock & CLOCK_KIND) == CLOCK_KIND || !number)
		return clock;
	return (clockid_t)(~(unsigned)threads_number_known(number) << 3 | ((unsigned)clock & 7));
}

/* Is it the process's own, of all its processor time or of user time alone? */
static inline bool clock_is_of_process(clockid_t clock)
{
	const int number = ~(clock >> 3);
	if (clock >= 0 || (clock & CLOCK_KIND) == CLOCK_KIND)
		return clock == CLOCK_PROCESS_CPUTIME_ID;
	return !(clock & CLOCK_OF_THREAD) && (!number || number == lower.upper.pid);
}

/* Does the clock measure CPU time?  A replay cannot know its value. */
static inline int clock_is_of_cpu(clockid_t clock)
{
	return clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

/* At every event the differences of shared memory are logged. */
#pragma once
#include <time.h>
#include "log/parts.h"

/* A record has the time from before memory was compared: stores that others had made by then have been seen.
 * RDB_NOTE_ASKED is for calls that took longer than this: the stores that the program had made before the question have
 * been seen by all others that compared later. */
enum { SHARED_QUICK_NS = 20000 };
static inline uint64_t shared_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Logs what has changed. shared_sync() is called when an event ends; calls that change the map call
 * shared_sync_before() before they do. */
void shared_sync(struct event *ev);
void shared_sync_before(struct event *ev);
/* Call before a call that may write to files is passed on. */
void shared_before_write(struct event *ev);
/* Can memory be hashed now?  Not if it may have changed since it was last compared. */
bool shared_hashable(void);
/* Likewise at the end of the recording, where nothing can be logged any more. */
bool shared_hashable_at_end(void);

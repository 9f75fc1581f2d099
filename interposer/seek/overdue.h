/* Limits the search for a mark.  A computation that has run far longer than in the recording will not reach it, and the
 * user is told so. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Begins the search.  The recording took recorded_ns to reach the mark (UINT64_MAX: unknown, no limit).  SIGPROF comes
 * from time to time. */
void overdue_begin(uint64_t recorded_ns);
void overdue_end(void);
/* True: the search has taken too long.  `slowly`: arrivals or instructions were looked at one by one. */
bool overdue(bool slowly);
/* Processor time since the search began. */
uint64_t overdue_spent_ns(void);

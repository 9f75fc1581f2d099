/* How long a mark is looked for: a computation that has run far longer than while it was recorded does
 * not come to it any more, and one who waits for it is told so.
 */
#ifndef RDB_OVERDUE_H
#define RDB_OVERDUE_H
#include <stdbool.h>
#include <stdint.h>

/* A mark is looked for from now on, at a place that the recording came to so much later (UINT64_MAX: unknown); SIGPROF comes from time to time. */
void overdue_begin(uint64_t recorded_ns);
void overdue_end(void);
/* Is that enough?  `slowly`: arrivals or instructions were looked at one by one. */
bool overdue(bool slowly);
/* Processor time since it began. */
uint64_t overdue_spent_ns(void);

#endif

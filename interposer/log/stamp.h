/* The time stamps of log records. */
#ifndef RDB_STAMP_H
#define RDB_STAMP_H
#include <stdint.h>

/* Nanoseconds of CLOCK_REALTIME, right to a few microseconds, never going back between two calls unless
 * the clock is set; by a look at the counter that has been taken just now: stamp_tsc(). */
uint64_t stamp_at(uint64_t tsc);
uint64_t stamp_tsc(void);
/* What it said last. */
extern uint64_t stamp_last;

/* A look at the counter, for stamp_took(); 0: there is none to look at. */
uint64_t stamp_begin(void);
/* What log_record.took says of the time from then to `tsc`. */
uint32_t stamp_took(uint64_t begun, uint64_t tsc);

#endif

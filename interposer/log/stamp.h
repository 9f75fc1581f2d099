/* The time stamps of log records. */
#ifndef RDB_STAMP_H
#define RDB_STAMP_H
#include <stdint.h>

/* Nanoseconds of CLOCK_REALTIME, right to a few microseconds, never going back between two calls unless
 * the clock is set. */
uint64_t stamp_ns(void);
/* What it said last. */
extern uint64_t stamp_last;

/* A look at the counter, for stamp_took(); 0: there is none to look at. */
uint64_t stamp_begin(void);
/* What log_record.took says of the time since then. */
uint32_t stamp_took(uint64_t begun);

#endif

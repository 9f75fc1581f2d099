/* The time stamps of log records. */
#pragma once
#include <stdint.h>

/* Nanoseconds of CLOCK_REALTIME, right to a few microseconds, never going back between two calls unless
 * the clock is set; by a look at the counter that has been taken just now: stamp_counter(). */
uint64_t stamp_at(uint64_t counter);
uint64_t stamp_counter(void);
/* The last result of stamp_at(). */
extern uint64_t stamp_last;

/* A reading of the counter for stamp_took(); 0: it cannot be used. */
uint64_t stamp_begin(void);
/* The time from `begun` to `counter`, as log_record.took has it. */
uint32_t stamp_took(uint64_t begun, uint64_t counter);

/* Clocks, for the functions of the program's vDSO (vdso.S). */
#pragma once
#include "crossing/clock_fast.h"

/* Carries out the calls of RDB_NS_CORE: nanoseconds of clock args[0], or -errno. */
int64_t clock_call(uint32_t fn, const uint64_t *args);

/* Image of the shared object that is copied to RDB_VDSO. */
extern const uint8_t vdso_start[], vdso_end[];

/* Allows the fast way to read clocks (clock_fast.h) again for a while, unless something is due at every event. */
void clock_fast_if_possible(void);

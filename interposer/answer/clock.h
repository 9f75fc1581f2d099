/* Clocks, as the functions of the program's vDSO (vdso.S) ask for them. */
#ifndef RDB_CLOCK_H
#define RDB_CLOCK_H
#include "crossing/clock_fast.h"

/* The calls of RDB_NS_CORE: nanoseconds of clock args[0], or -errno. */
int64_t clock_call(uint32_t fn, const uint64_t *args);

/* The shared object that is copied to RDB_VDSO. */
extern const uint8_t vdso_start[], vdso_end[];

/* The short way to read them (clock_fast.h) may be taken again for a while, unless something is due at every event. */
void clock_fast_if_possible(void);

#endif

/* Clocks, as the functions of the program's vDSO (vdso.S) ask for them. */
#ifndef RDB_CLOCK_H
#define RDB_CLOCK_H
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The calls of RDB_NS_CORE: nanoseconds of clock args[0], or -errno. */
int64_t clock_call(uint32_t fn, const uint64_t *args);

/* The shared object that is copied to RDB_VDSO. */
extern const uint8_t vdso_start[], vdso_end[];

/* From gate.S, on the lower stack with the program's thread pointer and vector registers: nanoseconds of the
 * clock, recorded, or CLOCK_NOT_FAST: nothing was done, the general way is to be taken. */
int64_t clock_fast(uint64_t clock);
#define CLOCK_NOT_FAST INT64_MIN
/* It may be taken again for a while. */
void clock_fast_again(void);
/* The same, unless something is due at every event. */
void clock_fast_if_possible(void);

extern struct clock_fast {
	unsigned left;   /* events until the general way is due */
	bool unrecorded; /* nothing is: they are read, and that is all */
	int (*read)(clockid_t clock, struct timespec *ts);
	uint64_t ahead_ns[2]; /* of CLOCK_REALTIME, by clock: CLOCK_REALTIME and CLOCK_MONOTONIC */
} clock_fast_;

#endif

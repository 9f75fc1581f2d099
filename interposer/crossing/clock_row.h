/* Clocks that are read with no other event in between.  A program that waits for a time reads one millions of times a
 * second, and the log would grow by a gigabyte meanwhile.  If the program is known to do nothing else (task/polling.h)
 * it is told the time less often.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
	CLOCK_ROW = 256,          /* readings that make a row */
	CLOCK_ROW_COUNTER = 1000, /* which: the processor's counter; others are a clockid_t, or a hypercall's number */
	CLOCK_ROW_MOST = 50000,   /* longest pace, ns */
	CLOCK_ROW_TICKS = 100000  /* the same in ticks of the counter, about */
};

extern struct clock_row {
	uint64_t event, length; /* event of the last reading; readings in the row */
	uint64_t clocks;        /* readings of clocks since the counter was read last */
	bool delays;            /* the program does nothing between two of them */
	bool told;              /* in a delay: the next three are set */
	uint64_t which;
	int64_t since, last; /* when the delay began and the program was told last, by `which` */
} clock_row;

/* Clock `which` is about to be read. */
void clock_row_goes_on(uint64_t which);

/* Is the row long enough to ask whether it is a delay? */
static inline bool clock_row_may_delay(void)
{
	return clock_row.length > CLOCK_ROW && !clock_row.delays;
}

/* In a delay.  True: the program is not told `now`; read again.  After a delay of t the program sees its end t/256
 * late, and `most` at most. */
bool clock_row_paced(uint64_t which, int64_t now, int64_t most);

static inline bool clock_row_waits(uint64_t which, int64_t now, int64_t most)
{
	return clock_row.delays && clock_row_paced(which, now, most);
}

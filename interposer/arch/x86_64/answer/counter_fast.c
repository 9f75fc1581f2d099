/* The fast way to answer a patched rdtsc (counter_sites.h); like clock_fast.c, and with its number of turns. */
#include <x86intrin.h>
#include "answer/clock.h"
#include "crossing/clock_row.h"
#include "arch/x86_64/text/counter_sites.h"
#include "crossing/log_fast.h"

struct counter_answer counter_fast(void)
{
	struct thread *self = thread_self();
	/* nothing is recorded any more */
	if (passing() || lower.ended)
		return (struct counter_answer){__rdtsc(), true};
	if (!clock_fast_.left || !log_fast_room(sizeof(struct log_record)) || !fast_begin(self))
		return (struct counter_answer){0, false};
	uint64_t value;
	clock_row_goes_on(CLOCK_ROW_COUNTER);
	do
		value = __rdtsc();
	while (clock_row_waits(CLOCK_ROW_COUNTER, (int64_t)value, CLOCK_ROW_TICKS));
	clock_fast_.left--;
	/* the general way reads the clock soon enough */
	const struct log_record what = {.kind = LOG_TSC, .result = (int64_t)value, .at_ns = stamp_last};
	return (struct counter_answer){value, log_fast_append(self, what, 0)};
}

/* The short way to answer a patched rdtsc (tsc_sites.h); as clock_fast.c, and with its number of turns. */
#include <x86intrin.h>
#include "answer/clock.h"
#include "text/tsc_sites.h"
#include "log/log_fast.h"

struct tsc_answer tsc_fast(void)
{
	struct thread *self = thread_self();
	/* nothing is recorded any more */
	if (passing() || lower.ended)
		return (struct tsc_answer){__rdtsc(), true};
	if (!clock_fast_.left || !log_fast_room(sizeof(struct log_record)) || !fast_begin(self))
		return (struct tsc_answer){0, false};
	const uint64_t value = __rdtsc();
	clock_fast_.left--;
	/* the general way looks at the clock soon enough */
	const struct log_record what = {.kind = LOG_TSC, .result = (int64_t)value, .at_ns = stamp_last};
	return (struct tsc_answer){value, log_fast_append(self, what, 0)};
}

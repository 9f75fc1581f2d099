/* The short way to answer the program's vDSO: no event in the making, no vector register (this file is compiled
 * with -mgeneral-regs-only; gate.S saves none), no thread-local variable (the thread pointer is the program's).
 *
 * Only what the general way does at nearly every event is done here: read the clock, append one record.
 * The general way is taken where anything else may be due, and after FAST_RUN events for what it looks at
 * itself: signals for the whole process, checkpoints, hashes.
 */
#include <time.h>
#include "crossing/gate.h"
#include "crossing/clock_fast.h"
#include "text/tsc_sites.h"
#include "text/traps.h"
#include "log/log_fast.h"

enum { FAST_RUN = 63, RECORD = sizeof(struct log_record) + 8, ROW = 256, PACE_NS = 2000 };

struct clock_fast clock_fast_;

static inline uint64_t stamped(uint64_t at_ns)
{
	/* the stamps of other events may be a little ahead of the clock */
	if (stamp_last - at_ns < 1000000)
		at_ns = stamp_last;
	return stamp_last = at_ns;
}

static struct {
	uint64_t event, length, ns;
} row;

/* Nothing but reading clocks, many times in a row, where the program reads the counter as well: it measures the one by
 * the other, and waits.  It does so as well with fewer looks, and at full speed the log would grow by a gigabyte a second. */
static bool measures(void)
{
	/* the general way made one event, before it granted another run */
	const unsigned since = clock_fast_.left == FAST_RUN ? 2 : 1;
	row.length = lower.event - row.event <= since ? row.length + 1 : 0;
	row.event = lower.event;
	return row.length > ROW && tsc_sites_any();
}

static int read_clock(uint64_t clock, struct timespec *ts)
{
	const bool paced = measures();
	int rc;
	uint64_t ns;
	do {
		rc = clock_fast_.read((clockid_t)clock, ts);
		ns = (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
	} while (paced && !rc && ns - row.ns < PACE_NS);
	row.ns = ns;
	return rc;
}

/* Without a recording: what comes while the clock is read finds the thread below, and reminds it. */
static int64_t unrecorded(const struct thread *self, uint64_t clock)
{
	struct timespec ts;
	if (clock > CLOCK_MONOTONIC || self->pending || self->yield || lower.checkpoint_waits || halt_wanted ||
	    tsc_traps() || clock_fast_.read((clockid_t)clock, &ts))
		return CLOCK_NOT_FAST;
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_fast(uint64_t clock)
{
	struct timespec ts;
	struct thread *self = thread_self();
	if (clock_fast_.unrecorded)
		return unrecorded(self, clock);
	if (!clock_fast_.left || clock > CLOCK_MONOTONIC || !log_fast_room(RECORD) || !fast_begin(self))
		return CLOCK_NOT_FAST;
	if (read_clock(clock, &ts))
		return CLOCK_NOT_FAST;
	int64_t ns = ts.tv_sec * 1000000000 + ts.tv_nsec;
	clock_fast_.left--;
	const struct log_record what = {
		.kind = LOG_HYPERCALL,
		.nargs = 1,
		.nr = RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK),
		.result = ns,
		.at_ns = stamped((uint64_t)ns + clock_fast_.ahead_ns[clock]),
	};
	return log_fast_append(self, what, clock) ? ns : CLOCK_NOT_FAST;
}

void clock_fast_again(void)
{
	clock_fast_.left = FAST_RUN;
}

/* The short way to answer the program's vDSO: no event in the making, no vector register (this file is compiled
 * with -mgeneral-regs-only; gate.S saves none), no thread-local variable (the thread pointer is the program's).
 *
 * Only what the general way does at nearly every event is done here: read the clock, append one record.
 * The general way is taken where anything else may be due, and after FAST_RUN events for what it looks at
 * itself: signals for the whole process, checkpoints, hashes.
 */
#include <time.h>
#include "interface/gate.h"
#include "crossing/clock_fast.h"
#include "crossing/clock_row.h"
#include "text/counter_sites.h"
#include "crossing/log_fast.h"

enum { FAST_RUN = 63, RECORD = sizeof(struct log_record) + 8, PACE_NS = 2000 };

struct clock_fast clock_fast_;

static inline uint64_t stamped(uint64_t at_ns)
{
	/* the stamps of other events may be a little ahead of the clock */
	if (stamp_last - at_ns < 1000000)
		at_ns = stamp_last;
	return stamp_last = at_ns;
}

/* A program that also reads the counter waits and measures one clock by the other; fewer readings serve it as well.
 * True: read again. */
static bool measures(int64_t ns)
{
	static int64_t last;
	if (clock_row.clocks > CLOCK_ROW && counter_sites_any() && (uint64_t)(ns - last) < PACE_NS)
		return true;
	last = ns;
	return false;
}

static int read_clock(uint64_t clock, int64_t *ns)
{
	struct timespec ts;
	int rc;
	clock_row_goes_on(clock);
	do {
		rc = clock_fast_.read((clockid_t)clock, &ts);
		*ns = ts.tv_sec * 1000000000 + ts.tv_nsec + clock_fast_.more_ns[clock];
	} while (!rc && (measures(*ns) || clock_row_waits(clock, *ns, CLOCK_ROW_MOST)));
	return rc;
}

/* Without a recording.  A signal that comes meanwhile finds the thread in the lower half, and reminds it. */
static int64_t unrecorded(const struct thread *self, uint64_t clock)
{
	struct timespec ts;
	if (clock > CLOCK_MONOTONIC || self->pending || self->yield || lower.checkpoint_waits || halt_wanted ||
	    counter_traps() || clock_fast_.read((clockid_t)clock, &ts))
		return CLOCK_NOT_FAST;
	return ts.tv_sec * 1000000000 + ts.tv_nsec + clock_fast_.more_ns[clock];
}

static int64_t general(void)
{
	return recording() && (threads_compete() || clock_row_may_delay()) ? CLOCK_ON_CONTEXT : CLOCK_NOT_FAST;
}

int64_t clock_fast(uint64_t clock)
{
	int64_t ns;
	struct thread *self = thread_self();
	if (clock_fast_.unrecorded)
		return unrecorded(self, clock);
	if (!clock_fast_.left || clock > CLOCK_MONOTONIC || !log_fast_room(RECORD) || !fast_begin(self))
		return general();
	if (read_clock(clock, &ns))
		return CLOCK_NOT_FAST;
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

#include "crossing/clock_row.h"
#include "base/lower.h"

struct clock_row clock_row;

void clock_row_goes_on(uint64_t which)
{
	if (lower.event != clock_row.event)
		clock_row = (struct clock_row){0};
	clock_row.length++;
	clock_row.event = lower.event + 1;
	clock_row.clocks = which == CLOCK_ROW_COUNTER ? 0 : clock_row.clocks + 1;
}

bool clock_row_paced(uint64_t which, int64_t now, int64_t most)
{
	if (!clock_row.told || clock_row.which != which) {
		clock_row.told = true;
		clock_row.which = which;
		clock_row.since = clock_row.last = now;
	}
	const int64_t pace = (now - clock_row.since) / CLOCK_ROW;
	if (now - clock_row.last < (pace < most ? pace : most))
		return true;
	clock_row.last = now;
	return false;
}

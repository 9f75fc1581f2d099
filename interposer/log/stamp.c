#include <stdbool.h>
#include <time.h>
#include "arch/counter.h"
#include "base/lower.h"
#include "base/monotonic.h"
#include "interface/log_format.h"
#include "log/stamp.h"

/* The vDSO's clock costs 20 ns a call, which is much of a cheap event.  Between two looks at it the processor's counter
 * is used, where it runs at one speed. */
enum {
	LOOK_NS = 1000000,      /* how long a look at the clock serves */
	CALIBRATE_NS = 5000000, /* the speed of the counter is measured over at least this long */
};

static struct {
	bool asked, usable;
	uint64_t first_ns, first_ticks; /* where the measurement of the speed began */
	uint64_t ns, counter;           /* of the last look at the clock */
	uint64_t serves;                /* ticks for which a look serves; 0: the speed is not known yet */
	uint64_t scale;                 /* nanoseconds a tick, times 2^32 */
} stamp;

uint64_t stamp_last;

static void measure(uint64_t ns, uint64_t counter)
{
	/* ns < first_ns, or the counter goes back: the clock was set, the machine suspended */
	uint64_t took = ns - stamp.first_ns, ticks = counter - stamp.first_ticks;
	if (!stamp.first_ns || ns < stamp.first_ns || ticks > 1ul << 40 || took > 100ul * CALIBRATE_NS) {
		stamp.first_ns = ns;
		stamp.first_ticks = counter;
	} else if (took >= CALIBRATE_NS && ticks) {
		stamp.scale = (uint64_t)(((unsigned __int128)took << 32) / ticks);
		stamp.serves = (uint64_t)(((unsigned __int128)LOOK_NS << 32) / stamp.scale);
	}
	stamp.ns = ns;
	stamp.counter = counter;
}

uint64_t stamp_at(uint64_t counter)
{
	/* where reading the counter traps, the exact clock of the vDSO would trap at every event */
	if (counter_traps())
		return clock_ns(CLOCK_REALTIME_COARSE);
	if (!stamp.asked) {
		stamp.usable = counter_steady();
		stamp.asked = true;
	}
	if (!stamp.usable)
		return clock_ns(CLOCK_REALTIME);
	uint64_t since = counter - stamp.counter, ns;
	if (since < stamp.serves) {
		ns = stamp.ns + (since * stamp.scale >> 32);
		if (ns < stamp_last)
			ns = stamp_last;
	} else {
		ns = clock_ns(CLOCK_REALTIME);
		measure(ns, counter);
		if (stamp_last - ns < LOOK_NS) /* the counter was a little ahead */
			ns = stamp_last;
	}
	return stamp_last = ns;
}

uint64_t stamp_begin(void)
{
	return counter_traps() || !stamp.usable ? 0 : counter_now();
}

uint64_t stamp_counter(void)
{
	return counter_traps() ? 0 : counter_now();
}

uint32_t stamp_took(uint64_t begun, uint64_t counter)
{
	uint64_t ticks, ns;
	if (!begun || !counter || !stamp.scale)
		return 0;
	ticks = counter - begun;
	if (ticks >> 62)
		return 0;
	ns = (uint64_t)((unsigned __int128)ticks * stamp.scale >> 32);
	if (ns < LOG_TOOK_US)
		return ns ? (uint32_t)ns : 1;
	ns /= 1000;
	return LOG_TOOK_US | (ns < LOG_TOOK_US ? (uint32_t)ns : LOG_TOOK_US - 1);
}

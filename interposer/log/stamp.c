#include <cpuid.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>
#include "base/lower.h"
#include "text/traps.h"
#include "log/log_format.h"
#include "log/stamp.h"

/* The vDSO's clock costs 20 ns a call, which is much of a cheap event.  Between two looks at it the time stamp
 * counter is used, where it runs at one speed (CPUID 0x80000007, EDX bit 8: Intel SDM vol. 3, 18.17.1). */
enum {
	LOOK_NS = 1000000,      /* how long a look at the clock serves */
	CALIBRATE_NS = 5000000, /* the speed of the counter is measured over at least this long */
};

static struct {
	bool asked, usable;
	uint64_t first_ns, first_tsc; /* where the measurement of the speed began */
	uint64_t ns, tsc;             /* of the last look at the clock */
	uint64_t serves;              /* ticks; 0: the speed is not known yet */
	uint64_t scale;               /* nanoseconds a tick, times 2^32 */
} stamp;

uint64_t stamp_last;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool invariant_counter(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static void measure(uint64_t ns, uint64_t tsc)
{
	/* ns < first_ns, or the counter goes back: the clock was set, the machine suspended */
	uint64_t took = ns - stamp.first_ns, ticks = tsc - stamp.first_tsc;
	if (!stamp.first_ns || ns < stamp.first_ns || ticks > 1ul << 40 || took > 100ul * CALIBRATE_NS) {
		stamp.first_ns = ns;
		stamp.first_tsc = tsc;
	} else if (took >= CALIBRATE_NS && ticks) {
		stamp.scale = (uint64_t)(((unsigned __int128)took << 32) / ticks);
		stamp.serves = (uint64_t)(((unsigned __int128)LOOK_NS << 32) / stamp.scale);
	}
	stamp.ns = ns;
	stamp.tsc = tsc;
}

uint64_t stamp_at(uint64_t tsc)
{
	/* where rdtsc traps, the exact clock of the vDSO would trap at every event */
	if (tsc_traps())
		return clock_ns(CLOCK_REALTIME_COARSE);
	if (!stamp.asked) {
		stamp.usable = invariant_counter();
		stamp.asked = true;
	}
	if (!stamp.usable)
		return clock_ns(CLOCK_REALTIME);
	uint64_t since = tsc - stamp.tsc, ns;
	if (since < stamp.serves) {
		ns = stamp.ns + (since * stamp.scale >> 32);
		if (ns < stamp_last)
			ns = stamp_last;
	} else {
		ns = clock_ns(CLOCK_REALTIME);
		measure(ns, tsc);
		if (stamp_last - ns < LOOK_NS) /* the counter was a little ahead */
			ns = stamp_last;
	}
	return stamp_last = ns;
}

uint64_t stamp_begin(void)
{
	return tsc_traps() || !stamp.usable ? 0 : __rdtsc();
}

uint64_t stamp_tsc(void)
{
	return tsc_traps() ? 0 : __rdtsc();
}

uint32_t stamp_took(uint64_t begun, uint64_t tsc)
{
	uint64_t ticks, ns;
	if (!begun || !tsc || !stamp.scale)
		return 0;
	ticks = tsc - begun;
	if (ticks >> 62)
		return 0;
	ns = (uint64_t)((unsigned __int128)ticks * stamp.scale >> 32);
	if (ns < LOG_TOOK_US)
		return ns ? (uint32_t)ns : 1;
	ns /= 1000;
	return LOG_TOOK_US | (ns < LOG_TOOK_US ? (uint32_t)ns : LOG_TOOK_US - 1);
}

#include "task/chaos.h"
#include "base/chance.h"
#include "base/monotonic.h"
#include "marks/spin.h"
#include "task/thread.h"
#include "text/accesses.h"
#include "text/spin_sites.h"

/* As powers of 2: of numbers that may have any magnitude, the least and the greatest. */
enum {
	SLICE_NS = 14, /* a slice, from 16 us */
	LATE_NS = 17,  /* a rest, from 131 us */
	LATE_NS_MOST = 26,
	QUICK = 8, /* events from one rest of a quick thread to the next; */
	SLOW = 3,  /* of a slow one */
	QUICK_PERIOD = 12,
	SLOW_PERIOD = 6, /* events for which a thread has that speed */
};
/* One of so many: periods that are slow, and first periods of a thread; visits of a place at which a slow, and a quick thread is late. */
enum { SLOW_PERIODS = 4, SLOW_BEGINNINGS = 2, SLOW_VISITS = 2, QUICK_VISITS = 4 };
enum { PLACES = 300 }; /* how many are tried */
/* The process rests for no more than this, and half of the time. */
static const uint64_t REST_NS = 200000000;

/* Of the process; its child has lost the places (spin_sites_settle()). */
static struct {
	bool begun, places_picked;
	uint64_t since_ns, rested_ns;
} process;

void chaos_begins(void)
{
	process.begun = process.places_picked = false;
	process.since_ns = monotonic_ns();
	process.rested_ns = 0;
}

uint64_t chaos_slice_ns(uint64_t most_ns)
{
	unsigned most = SLICE_NS;
	while (most < 63 && 4ul << most <= most_ns)
		most++;
	return chance_magnitude(SLICE_NS, most);
}

/* Before an event. */
static bool event_is_late(struct thread *self)
{
	const bool begins = !self->asked || !process.begun;
	process.begun = true;
	if (!self->speed_left || begins) {
		self->slow = !chance_below(begins ? SLOW_BEGINNINGS : SLOW_PERIODS);
		self->speed_left = (uint32_t)chance_magnitude(0, self->slow ? SLOW_PERIOD : QUICK_PERIOD);
		self->late_in = 0;
	}
	self->speed_left--;
	if (!self->late_in)
		self->late_in = (uint32_t)chance_magnitude(0, self->slow ? SLOW : QUICK);
	return !--self->late_in;
}

/* A place is asked again when threads have run meanwhile, not each time that it is met (text/spin_sites.h). */
bool chaos_late_at_place(void)
{
	return !chance_below(thread_self()->slow ? SLOW_VISITS : QUICK_VISITS);
}

uint64_t chaos_rest_ns(void)
{
	const uint64_t ns = chance_magnitude(LATE_NS, LATE_NS_MOST);
	if (process.rested_ns + ns > REST_NS + (monotonic_ns() - process.since_ns) / 2)
		return 0;
	process.rested_ns += ns;
	return ns;
}

/* Each run has other places.  They are picked by their number in the text, not by how often they are met, so that one
 * in a rare way through the program is picked as often as one in a loop. */
static void pick_places(void)
{
	if (threads_alive() < 2 || process.places_picked)
		return;
	process.places_picked = true;
	const struct functions f = functions_of(lower.upper.auxv_addr);
	const uint64_t begin = functions_begin(&f), size = functions_end(&f) - begin;
	if (!size)
		return;
	spin_know_map();
	for (unsigned n = 0; n < PLACES; n++) {
		const uint64_t place = access_from(&f, begin + chance_below(size));
		if (place && !spin_site_at(place))
			spin_site_add(place, 0);
	}
}

bool chaos_late(void)
{
	pick_places();
	return event_is_late(thread_self());
}

#include "seek/overdue.h"
#include <sys/time.h>
#include "base/monotonic.h"

/* In processor time, so that a busy machine changes nothing.  A trampoline makes a loop ten times slower,
 * a signal at each turn ten thousand times. */
enum { TIMES = 50, TIMES_SLOWLY = 20000, LOOK_EVERY_S = 1 };
#define AT_LEAST_NS 3000000000ull
#define AT_LEAST_SLOWLY_NS 60000000000ull

static struct {
	bool waiting;
	uint64_t began_ns, recorded_ns;
} p;

static void set_timer(time_t every_s)
{
	const struct itimerval timer = {.it_interval.tv_sec = every_s, .it_value.tv_sec = every_s};

	setitimer(ITIMER_PROF, &timer, NULL);
}

void overdue_begin(uint64_t recorded_ns)
{
	if (recorded_ns == UINT64_MAX)
		return;
	p.waiting = true;
	p.recorded_ns = recorded_ns;
	p.began_ns = processor_ns();
	set_timer(LOOK_EVERY_S);
}

void overdue_end(void)
{
	if (p.waiting)
		set_timer(0);
	p.waiting = false;
}

uint64_t overdue_spent_ns(void)
{
	return processor_ns() - p.began_ns;
}

bool overdue(bool slowly)
{
	uint64_t times = slowly ? TIMES_SLOWLY : TIMES;
	uint64_t at_least = slowly ? AT_LEAST_SLOWLY_NS : AT_LEAST_NS;

	return p.waiting && overdue_spent_ns() / times > p.recorded_ns + at_least / times;
}

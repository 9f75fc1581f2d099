#include "restart/process/timerfds.h"
#include <fcntl.h>
#include <time.h>
#include "answer/clock_calls.h"
#include "base/monotonic.h"
#include "restart/base/streams.h"

#define SECOND 1000000000ll

static int64_t ns_of(struct timespec t)
{
	return (int64_t)given_ns(t.tv_sec, t.tv_nsec);
}

static struct timespec of_ns(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

void timerfd_flags(struct opened *f, uint64_t flags)
{
	f->flags &= ~(unsigned)(O_TRUNC | O_EXCL);
	if (flags & TFD_TIMER_ABSTIME)
		f->flags |= O_TRUNC | (flags & TFD_TIMER_CANCEL_ON_SET ? O_EXCL : 0);
}

struct timer_state timerfd_state(const struct opened *f)
{
	return (struct timer_state){
		.value = f->timer,
		.absolute = (f->flags & O_TRUNC ? TFD_TIMER_ABSTIME : 0) |
			    (f->flags & O_EXCL ? TFD_TIMER_CANCEL_ON_SET : 0),
		.since_ns = f->since_ns,
		.expired = f->count,
	};
}

void timerfd_told(const struct opened *f)
{
	const struct timer_state t = timerfd_state(f);
	stream_add(f->shared, OP_WRITE, &t, sizeof(t));
}

/* When the timer goes off next, given the expirations that were read: relative to when it was set, or as an absolute
 * time.  0: never. */
static int64_t next(const struct timer_state *t)
{
	const int64_t first = ns_of(t->value.it_value), each = ns_of(t->value.it_interval);
	if (!first || (!each && t->expired))
		return 0;
	return first + (int64_t)t->expired * each;
}

static int64_t left(const struct timer_state *t, uint64_t now_ns)
{
	return next(t) - (now_ns > t->since_ns ? (int64_t)(now_ns - t->since_ns) : 0);
}

int timerfd_again(int fd, int clock, const struct timer_state *t, uint64_t now_ns)
{
	struct timespec now;
	struct itimerspec again = {.it_interval = t->value.it_interval};
	int64_t at = next(t);
	if (!at)
		return 0;
	if (!t->absolute) {
		if (clock_gettime(clock == CLOCK_REALTIME_ALARM   ? CLOCK_REALTIME
				  : clock == CLOCK_BOOTTIME_ALARM ? CLOCK_BOOTTIME
								  : clock,
				  &now))
			return -1;
		/* a time in the past counts the expirations since */
		if (__builtin_add_overflow(ns_of(now), left(t, now_ns), &at))
			at = INT64_MAX;
	}
	if (t->absolute && __builtin_sub_overflow(at, clock_ahead(clock), &at))
		at = INT64_MAX;
	again.it_value = of_ns(at > 0 ? at : 1);
	return timerfd_settime(fd, TFD_TIMER_ABSTIME | (int)t->absolute, &again, NULL);
}

void timerfd_state_save(struct timer_state *t, uint64_t now_ns)
{
	int64_t at = next(t);
	if (at && !t->absolute)
		at = left(t, now_ns) > 0 ? left(t, now_ns) : 1;
	t->value.it_value = of_ns(at);
	t->since_ns = t->expired = 0;
}

void timerfd_save(struct opened *f, uint64_t now_ns)
{
	struct timer_state t = timerfd_state(f);
	timerfd_state_save(&t, now_ns);
	f->timer = t.value;
	f->since_ns = f->count = 0;
}

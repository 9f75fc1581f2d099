#include "answer/clock_calls.h"
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include "task/clock_ids.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "base/user.h"
#include "task/thread.h"

enum { SECOND = 1000000000, TICK = CLOCKS_TICK };

static int64_t of_thread(int32_t known)
{
	int64_t ahead = 0;
	threads_walk_begin();
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->upper.tid == known)
			ahead = t->processor_ahead;
	threads_walk_end();
	return ahead;
}

int64_t clock_ahead(clockid_t clock)
{
	const struct processor_time *self = &lower.clocks.self;
	const int number = clock < 0 ? ~(clock >> 3) : 0;
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE: return lower.clocks.monotonic;
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM: return lower.clocks.boot;
	case CLOCK_THREAD_CPUTIME_ID: return thread_self()->processor_ahead;
	}
	if (clock_is_of_process(clock))
		return clock < 0 && (clock & CLOCK_KIND) == CLOCK_OF_USER ? self->user : self->user + self->system;
	if (clock < 0 && (clock & CLOCK_KIND) != CLOCK_KIND && clock & CLOCK_OF_THREAD)
		return number ? of_thread(number) : thread_self()->processor_ahead;
	return 0;
}

/* ---- before the call ---- */

struct timespec clock_deadline(clockid_t clock, struct timespec t)
{
	int64_t ns;
	if (__builtin_sub_overflow((int64_t)given_ns(t.tv_sec, t.tv_nsec), clock_ahead(clock), &ns))
		return t; /* for ever */
	if (ns <= 0)      /* it is over; zero would stop a timer */
		return (struct timespec){.tv_nsec = 1};
	return (struct timespec){ns / SECOND, ns % SECOND};
}

/* False: it is no time, or zero, with which a timer is stopped. */
static bool earlier(struct timespec *t, clockid_t clock)
{
	if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= SECOND || (!t->tv_sec && !t->tv_nsec))
		return false;
	*t = clock_deadline(clock, *t);
	return true;
}

static void deadline(uint64_t *arg, clockid_t clock, struct clock_room *room)
{
	struct timespec *t = &room->time.it_value;
	if (clock_ahead(clock) && !user_read(t, *arg, sizeof(*t)) && earlier(t, clock))
		*arg = (uint64_t)t;
}

static void timer(uint64_t *arg, clockid_t clock, struct clock_room *room)
{
	struct itimerspec *time = &room->time;
	if (clock_ahead(clock) && !user_read(time, *arg, sizeof(*time)) && earlier(&time->it_value, clock))
		*arg = (uint64_t)time;
}

/* The number behind `word` in a file of /proc, after `from`; -1: it is not there. */
static int number_in(const char *path, const char *from, const char *word)
{
	char text[16384];
	int number = -1;
	descriptor_text(path, text, sizeof(text));
	const char *at = strstr(text, from);
	at = at ? strstr(at, word) : NULL;
	if (at)
		sscanf(at + strlen(word), " %d", &number);
	return number;
}

void clocks_in(uint64_t nr, uint64_t a[6], struct clock_room *room)
{
	char text[64];
	if (!lower.clocks_ahead)
		return;
	switch (nr) {
	case SYS_clock_nanosleep:
		if (a[1] & TIMER_ABSTIME)
			deadline(&a[2], (clockid_t)a[0], room);
		break;
	case SYS_futex: {
		const int op = (int)a[1] & FUTEX_CMD_MASK;
		if ((op == FUTEX_WAIT_BITSET || op == FUTEX_WAIT_REQUEUE_PI || op == FUTEX_LOCK_PI2) &&
		    !((int)a[1] & FUTEX_CLOCK_REALTIME))
			deadline(&a[3], CLOCK_MONOTONIC, room);
		break;
	}
	case SYS_futex_waitv: deadline(&a[3], (clockid_t)a[4], room); break;
	case SYS_timerfd_settime:
		if (a[1] & TFD_TIMER_ABSTIME) {
			snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", (int)a[0]);
			timer(&a[2], number_in(text, "clockid:", "clockid:"), room);
		}
		break;
	case SYS_timer_settime:
		if (a[1] & TIMER_ABSTIME) {
			snprintf(text, sizeof(text), "ID: %d\n", (int)a[0]);
			timer(&a[2], clock_id_known(number_in("/proc/self/timers", text, "ClockID:")), room);
		}
		break;
	}
}

/* ---- its answer ---- */

static void more(uint64_t at, int64_t ahead)
{
	struct timespec t;
	if (!ahead || user_read(&t, at, sizeof(t)))
		return;
	const int64_t ns = t.tv_sec * (int64_t)SECOND + t.tv_nsec + ahead;
	t = (struct timespec){ns / SECOND, ns % SECOND};
	(void)user_write(at, &t, sizeof(t)); /* the kernel has just written there */
}

static struct timeval used(struct timeval t, int64_t ahead)
{
	const int64_t us = t.tv_sec * 1000000 + t.tv_usec + ahead / 1000;
	return (struct timeval){us / 1000000, us % 1000000};
}

static void usage(uint64_t at, struct processor_time ahead)
{
	struct rusage r;
	if (user_read(&r, at, sizeof(r)))
		return;
	r.ru_utime = used(r.ru_utime, ahead.user);
	r.ru_stime = used(r.ru_stime, ahead.system);
	(void)user_write(at, &r, sizeof(r));
}

static int64_t ticks(uint64_t at, int64_t result)
{
	const struct clocks *c = &lower.clocks;
	struct tms t;
	if (at && !user_read(&t, at, sizeof(t))) {
		t.tms_utime += c->self.user / TICK;
		t.tms_stime += c->self.system / TICK;
		t.tms_cutime += c->children.user / TICK;
		t.tms_cstime += c->children.system / TICK;
		(void)user_write(at, &t, sizeof(t));
	}
	return result + c->ticks;
}

int64_t clocks_out(uint64_t nr, const uint64_t a[6], int64_t result)
{
	struct sysinfo info;
	if (!lower.clocks_ahead || result < 0)
		return result;
	switch (nr) {
	case SYS_clock_gettime: more(a[1], clock_ahead((clockid_t)a[0])); break;
	case SYS_getrusage:
		usage(a[1], (int)a[0] == RUSAGE_SELF ? lower.clocks.self
			    : (int)a[0] == RUSAGE_CHILDREN
				    ? lower.clocks.children
				    : (struct processor_time){thread_self()->processor_ahead, 0});
		break;
	case SYS_times: return ticks(a[0], result);
	case SYS_sysinfo:
		if (!user_read(&info, a[0], sizeof(info))) {
			info.uptime += lower.clocks.boot / SECOND;
			(void)user_write(a[0], &info, sizeof(info));
		}
		break;
	}
	return result;
}

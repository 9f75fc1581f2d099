#include "restart/process/timers.h"
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "restart/base/branch_file.h"
#include "base/monotonic.h"
#include "replay/replay.h"

enum { TIMERS = 3 /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */ };

static struct {
	struct itimerval set[TIMERS];
	uint64_t at_ns[TIMERS];
	bool heard[TIMERS]; /* it has gone off since it was set */
	bool begun;
} timers;

static void begin(void);

void timers_syscall(const struct event *ev)
{
	begin();
	switch (ev->nr) {
	case SYS_setitimer:
		if (ev->args[0] < TIMERS && ev->args[1]) {
			memcpy(&timers.set[ev->args[0]], (const void *)ev->args[1], sizeof(struct itimerval));
			timers.heard[ev->args[0]] = false;
			timers.at_ns[ev->args[0]] = replay_record()->at_ns;
		}
		break;
	case SYS_alarm:
		timers.set[ITIMER_REAL] = (struct itimerval){.it_value = {.tv_sec = (time_t)ev->args[0]}};
		timers.at_ns[ITIMER_REAL] = replay_record()->at_ns;
		timers.heard[ITIMER_REAL] = false;
		break;
	}
}

void timers_delivered(int sig)
{
	begin();
	for (int i = 0; i < TIMERS; i++)
		timers.heard[i] |= sig == (int[]){SIGALRM, SIGVTALRM, SIGPROF}[i];
}

static uint64_t itimer_ns(const struct timeval *tv)
{
	return given_ns(tv->tv_sec, tv->tv_usec * 1000);
}

/* The time left at the cut; a timer that should have gone off meanwhile goes off at once. */
static struct timeval left(const struct timeval *value, const struct timeval *interval, uint64_t since_ns)
{
	uint64_t us = itimer_ns(value) / 1000, gone = since_ns / 1000, every = itimer_ns(interval) / 1000;
	if (gone < us)
		us -= gone;
	else
		us = every ? every - (gone - us) % every : 1;
	return (struct timeval){.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};
}

/* Timers of a branch, or of an earlier program of the process, were set when it began. */
static void begin(void)
{
	if (timers.begun)
		return;
	timers.begun = true;
	if (!branch_file_load("timers", timers.set, sizeof(timers.set), sizeof(timers.set)))
		return;
	for (int i = 0; i < TIMERS; i++)
		timers.at_ns[i] = replay_begun_ns();
}

static bool runs(int i)
{
	return timers.set[i].it_value.tv_sec || timers.set[i].it_value.tv_usec;
}

void timers_save(uint64_t now)
{
	begin();
	for (int i = 0; i < TIMERS; i++) {
		struct itimerval *t = &timers.set[i];
		/* less of virtual time has passed */
		uint64_t since = i == ITIMER_REAL && now > timers.at_ns[i] ? now - timers.at_ns[i] : 0;
		bool once = !t->it_interval.tv_sec && !t->it_interval.tv_usec;
		uint64_t set = itimer_ns(&t->it_value);
		if (once && timers.heard[i] && (since >= set || i != ITIMER_REAL)) /* else on its way */
			memset(t, 0, sizeof(*t));
		else if (runs(i))
			t->it_value = left(&t->it_value, &t->it_interval, since);
	}
	branch_file_save("timers", timers.set, sizeof(timers.set));
}

void timers_look(void *out)
{
	struct itimerval *set = out;
	for (int i = 0; i < TIMERS; i++) {
		struct itimerval *t = &set[i];
		raw_syscall(SYS_getitimer, i, (long)t, 0, 0, 0, 0);
		/* a repeating timer stands still from its signal until the signal is taken */
		if ((t->it_interval.tv_sec || t->it_interval.tv_usec) && !t->it_value.tv_sec && !t->it_value.tv_usec)
			t->it_value.tv_usec = 1;
	}
}

void timers_left(void)
{
	bool any = false;
	timers_look(timers.set);
	for (int i = 0; i < TIMERS; i++)
		any |= runs(i);
	if (any)
		recording_file_save("timers", timers.set, sizeof(timers.set));
}

void timers_from(const void *in)
{
	timers.begun = true;
	memcpy(timers.set, in, sizeof(timers.set));
}

void timers_restore(void)
{
	for (int i = 0; i < TIMERS; i++)
		if (runs(i))
			raw_syscall(SYS_setitimer, i, (long)&timers.set[i], 0, 0, 0, 0);
}

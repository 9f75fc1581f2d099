#include "restart/process/posix_timers.h"
#include "base/user.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include "answer/clock_calls.h"
#include "task/clock_ids.h"
#include "restart/base/branch_file.h"
#include "base/monotonic.h"
#include "restart/base/cut.h"
#include "restart/base/open_table.h"
#include "base/descriptors.h"
#include "replay/replay.h"
#include "task/signals.h"

/* prctl(2), since Linux 6.15 */
#define TIMER_CREATE_RESTORE_IDS 77

enum { LOOK = 32768, TRIES = 1 << 20 };

static const uint64_t second = 1000000000;

static struct {
	bool begun;
	unsigned n;
	struct posix_timer list[POSIX_TIMERS];
} timers;

/* The timers of a branch were set when it began. */
static void begin(void)
{
	if (timers.begun)
		return;
	timers.begun = true;
	size_t len = branch_file_load("posix-timers", timers.list, sizeof(timers.list), sizeof(timers.list[0]));
	timers.n = (unsigned)(len / sizeof(timers.list[0]));
	for (unsigned i = 0; i < timers.n; i++)
		timers.list[i].at_ns = replay_begun_ns();
}

static struct posix_timer *find(uint64_t id)
{
	for (unsigned i = 0; i < timers.n; i++)
		if (timers.list[i].id == (int32_t)id)
			return &timers.list[i];
	return NULL;
}

static void created(const struct event *ev)
{
	const struct sigevent *how = (const void *)ev->args[1];
	struct posix_timer t = {.clock = (int32_t)ev->args[0], .notify = SIGEV_SIGNAL, .sig = SIGALRM};
	memcpy(&t.id, (const void *)ev->args[2], sizeof(t.id));
	t.value = (uint64_t)t.id;
	if (how) {
		t.notify = how->sigev_notify;
		t.sig = how->sigev_signo;
		t.thread = t.notify == SIGEV_THREAD_ID ? how->_sigev_un._tid : 0;
		memcpy(&t.value, &how->sigev_value, sizeof(t.value));
	}
	if (timers.n == POSIX_TIMERS)
		live_refuse("it has more than %d timers of timer_create(2)", POSIX_TIMERS);
	timers.list[timers.n++] = t;
}

static void armed(const struct event *ev)
{
	struct posix_timer *t = find(ev->args[0]);
	if (!t)
		return;
	memcpy(&t->set, (const void *)ev->args[2], sizeof(t->set));
	t->absolute = ev->args[1] & TIMER_ABSTIME;
	t->at_ns = replay_record()->at_ns;
	t->heard_ns = 0;
}

static void heard(int sig, int code, int id)
{
	struct posix_timer *t = code == SI_TIMER ? find((uint64_t)id) : NULL;
	if (t && t->sig == sig)
		t->heard_ns = replay_now_ns();
}

void posix_timers_delivered(const siginfo_t *info)
{
	begin();
	heard(info->si_signo, info->si_code, info->si_timerid);
}

/* sigwaitinfo(2) without a siginfo_t: any timer of that signal may have sent it. */
static void waited_for(int sig)
{
	for (unsigned i = 0; i < timers.n; i++)
		if (timers.list[i].sig == sig)
			timers.list[i].heard_ns = replay_now_ns();
}

void posix_timers_syscall(const struct event *ev)
{
	struct posix_timer *t;
	struct signalfd_siginfo one;
	begin();
	switch (ev->nr) {
	case SYS_timer_create: created(ev); break;
	case SYS_timer_settime: armed(ev); break;
	case SYS_timer_delete:
		if ((t = find(ev->args[0])))
			*t = timers.list[--timers.n];
		break;
	case SYS_rt_sigtimedwait:
		if (ev->result > 0 && ev->args[1])
			posix_timers_delivered((const siginfo_t *)ev->args[1]);
		else if (ev->result > 0)
			waited_for((int)ev->result);
		break;
	default:
		for (unsigned i = 0; signalfd_got(ev, i, &one); i++)
			heard((int)one.ssi_signo, one.ssi_code, (int)one.ssi_tid);
		break;
	}
}

/* ---- at the cut ---- */

static uint64_t to_ns(const struct timespec *ts)
{
	return given_ns(ts->tv_sec, ts->tv_nsec);
}

static struct timespec from_ns(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / second), .tv_nsec = (long)(ns % second)};
}

/* Computes the time that is left.  An absolute timer keeps its time by the clock, which has gone on, until it goes off
 * for the first time.  Of processor time none has passed, as far as is known. */
static void leave(struct posix_timer *t, uint64_t now_ns)
{
	const uint64_t value = to_ns(&t->set.it_value), every = to_ns(&t->set.it_interval);
	const uint64_t since = now_ns > t->at_ns ? now_ns - t->at_ns : 0;
	const bool of_cpu = clock_is_of_cpu(t->clock);
	uint64_t left = value;
	if (!value || (t->absolute && !t->heard_ns))
		return;
	if (t->heard_ns && !every)
		left = 0;
	else if (of_cpu)
		left = t->heard_ns ? every : value;
	else if (t->absolute)
		left = every - (now_ns > t->heard_ns ? (now_ns - t->heard_ns) % every : 0);
	else if (since < value)
		left = value - since;
	else if (every)
		left = every - (since - value) % every;
	else
		left = t->notify != SIGEV_NONE; /* its signal was on the way */
	t->set.it_value = from_ns(left);
	t->absolute = 0;
	t->heard_ns = 0;
}

void posix_timers_save(uint64_t now_ns)
{
	begin();
	for (unsigned i = 0; i < timers.n; i++)
		leave(&timers.list[i], now_ns);
	if (timers.n)
		branch_file_save("posix-timers", timers.list, timers.n * sizeof(timers.list[0]));
}

static int by_id(const void *a, const void *b)
{
	const struct posix_timer *one = a, *other = b;
	return (one->id > other->id) - (one->id < other->id);
}

/* Makes the timer under its number.  A kernel that takes no number counts numbers up in each process. */
static long create_as(const struct posix_timer *t, clockid_t clock, const struct sigevent *how)
{
	int32_t id = t->id;
	long rc = raw_syscall(SYS_prctl, TIMER_CREATE_RESTORE_IDS, 1, 0, 0, 0, 0);
	if (!rc) {
		rc = raw_syscall(SYS_timer_create, clock, (long)how, (long)&id, 0, 0, 0);
		raw_syscall(SYS_prctl, TIMER_CREATE_RESTORE_IDS, 0, 0, 0, 0, 0);
		return rc;
	}
	for (unsigned i = 0; i < TRIES; i++) {
		rc = raw_syscall(SYS_timer_create, clock, (long)how, (long)&id, 0, 0, 0);
		if (rc || id == t->id)
			return rc;
		raw_syscall(SYS_timer_delete, id, 0, 0, 0, 0, 0);
		if (id > t->id)
			return -EBUSY;
	}
	return -EBUSY;
}

static void restore(struct posix_timer *t)
{
	struct sigevent how = {.sigev_notify = t->notify, .sigev_signo = t->sig};
	memcpy(&how.sigev_value, &t->value, sizeof(t->value));
	if (t->notify == SIGEV_THREAD_ID)
		how._sigev_un._tid = (pid_t)threads_number_now((uint64_t)t->thread);
	signals_of_timer(&how);
	long rc = create_as(t, clock_id_now(t->clock), &how);
	if (rc == -EINVAL) { /* its thread, or that of its clock, has ended: it does not go off any more */
		how.sigev_notify = SIGEV_NONE;
		t->set = (struct itimerspec){0};
		rc = create_as(t, CLOCK_MONOTONIC, &how);
	}
	if (t->absolute && (t->set.it_value.tv_sec || t->set.it_value.tv_nsec))
		t->set.it_value = clock_deadline(t->clock, t->set.it_value);
	if (!rc)
		rc = raw_syscall(SYS_timer_settime, t->id, t->absolute ? TIMER_ABSTIME : 0, (long)&t->set, 0, 0, 0);
	if (rc)
		live_refuse("its timer %d cannot be made again: %s", t->id, strerror((int)-rc));
}

void posix_timers_restore(void)
{
	qsort(timers.list, timers.n, sizeof(timers.list[0]), by_id);
	for (unsigned i = 0; i < timers.n; i++)
		restore(&timers.list[i]);
}

/* ---- without a log ---- */

static bool look_at(const char *text, struct posix_timer *t)
{
	char how[16] = "", whom[8] = "";
	unsigned long value;
	int number;
	*t = (struct posix_timer){0};
	/* proc(5), /proc/pid/timers */
	if (sscanf(text, "ID: %d signal: %d/%lx notify: %15[a-z]/%7[a-z].%d ClockID: %d", &t->id, &t->sig, &value, how,
		   whom, &number, &t->clock) != 7)
		return false;
	t->value = value;
	t->notify = !strcmp(how, "none")     ? SIGEV_NONE
		    : !strcmp(how, "thread") ? SIGEV_THREAD
		    : !strcmp(whom, "tid")   ? SIGEV_THREAD_ID
					     : SIGEV_SIGNAL;
	t->thread = t->notify == SIGEV_THREAD_ID ? threads_number_known(number) : 0;
	t->clock = clock_id_known(t->clock);
	return raw_syscall(SYS_timer_gettime, t->id, (long)&t->set, 0, 0, 0, 0) == 0;
}

static bool is_of_lower(const struct posix_timer *t)
{
	return t->sig == SIGNALS_REMINDER && (t->value == SIGNALS_CHECKPOINT || t->value == SIGNALS_OWN);
}

int posix_timers_look(struct posix_timer *list, unsigned room)
{
	static char text[LOOK];
	unsigned n = 0;
	const ssize_t len = descriptor_text("/proc/self/timers", text, sizeof(text));
	if (len < 0)
		return len == -ENOENT ? -ENOTSUP : (int)len;
	if (len == sizeof(text) - 1)
		return -E2BIG;
	for (const char *at = strstr(text, "ID: "); at; at = strstr(at + 4, "\nID: ")) {
		struct posix_timer one;
		if (!look_at(*at == '\n' ? at + 1 : at, &one))
			return -EPROTO;
		if (is_of_lower(&one))
			continue;
		if (n == room)
			return -E2BIG;
		list[n++] = one;
	}
	return (int)n;
}

void posix_timers_from(const struct posix_timer *list, unsigned n)
{
	timers.begun = true;
	timers.n = n;
	memcpy(timers.list, list, n * sizeof(*list));
}

/* ---- live ---- */

long posix_timer_create(uint64_t clock, uint64_t how, uint64_t id)
{
	struct sigevent now;
	if (how) {
		if (user_read(&now, how, sizeof(now)))
			return -EFAULT;
		signals_of_timer(&now);
		if (now.sigev_notify == SIGEV_THREAD_ID)
			now._sigev_un._tid = (pid_t)threads_number_now((uint64_t)now._sigev_un._tid);
	}
	return raw_syscall(SYS_timer_create, clock_id_now((clockid_t)clock), how ? (long)&now : 0, (long)id, 0, 0, 0);
}

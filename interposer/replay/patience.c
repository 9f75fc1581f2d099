#include "replay/patience.h"
#include <signal.h>
#include <time.h>
#include "crossing/boundary.h"
#include "log/log_reader.h"
#include "replay/replay.h"
#include "task/thread.h"

/* A replay computes as fast as the recording did, but for what it looks at on the way. */
enum { FACTOR = 20, LOOK_MS = 500 };

static struct {
	uint64_t event;    /* the newest at the last look */
	uint64_t since_ns; /* when it was first seen */
} patience;

static uint64_t spent_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void look(ucontext_t *uc)
{
	const struct log_record *present = replay_record(), *next = replay_next_record();
	uint64_t now = spent_ns();
	if (lower.event != patience.event || !patience.since_ns) {
		patience.event = lower.event;
		patience.since_ns = now;
		return;
	}
	uint64_t waited = now - patience.since_ns, recorded = 0;
	if (present && next && next->at_ns > present->at_ns)
		recorded = next->at_ns - present->at_ns;
	if (waited < (uint64_t)lower.opt.patience_s * 1000000000u || waited / FACTOR < recorded)
		return;
	replay_diverged(uc,
			"the program computes for %lu s after event %lu without making the next, which came after "
			"%lu ms while it was recorded: perhaps it looks at memory that others wrote to",
			(unsigned long)(waited / 1000000000u), (unsigned long)lower.event,
			(unsigned long)(recorded / 1000000u));
}

/* In lower code something is being done about it. */
static void on_time(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	if (!RDB_IS_UPPER(UC_REG(uc, RIP)))
		return;
	uint64_t fs = __builtin_ia32_rdfsbase64();
	struct thread *self = thread_self();
	__builtin_ia32_wrfsbase64(self->gate.lower_fs);
	self->upper.fs_base = fs;
	look(uc);
	__builtin_ia32_wrfsbase64(fs);
}

void patience_begin(void)
{
	struct sigaction sa = {.sa_sigaction = on_time, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM};
	const struct timespec every = {.tv_nsec = LOOK_MS * 1000000l};
	const struct itimerspec times = {.it_interval = every, .it_value = every};
	timer_t timer;
	if (!lower.opt.patience_s)
		return;
	if (sigaction(SIGVTALRM, &sa, NULL) || timer_create(CLOCK_PROCESS_CPUTIME_ID, &how, &timer) ||
	    timer_settime(timer, 0, &times, NULL))
		rdb_warn("%s: no timer: a replay that does not go on is not noticed", lower.opt.dir);
}

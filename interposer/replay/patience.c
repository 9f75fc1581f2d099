#include "replay/patience.h"
#include <signal.h>
#include <time.h>
#include "arch/thread_pointer.h"
#include "arch/registers.h"
#include "base/monotonic.h"
#include "crossing/boundary.h"
#include "log/log_reader.h"
#include "replay/replay.h"
#include "task/thread.h"

/* A replay computes as fast as the recording did, except for what it checks on the way. */
enum { FACTOR = 20, LOOK_MS = 500 };

static struct {
	uint64_t event;    /* lower.event at the last look */
	uint64_t since_ns; /* when it was first seen */
} patience;

static void look(ucontext_t *uc)
{
	const struct log_record *present = replay_record(), *next = replay_next_record();
	uint64_t now = processor_ns();
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
			"the program computes for %lu s after event %lu without reaching the next event, which came "
			"after %lu ms in the recording: perhaps it reads memory that other processes write",
			(unsigned long)(waited / 1000000000u), (unsigned long)lower.event,
			(unsigned long)(recorded / 1000000u));
}

/* SIGVTALRM.  In lower code an event is being answered: nothing to check. */
static void on_time(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	if (!RDB_RUNS_UPPER(UC_PC(uc)))
		return;
	uint64_t fs = thread_pointer();
	struct thread *self = thread_self();
	thread_pointer_set(self->gate.lower_tls);
	self->upper.tls = fs;
	look(uc);
	thread_pointer_set(fs);
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
		rdb_warn("%s: no timer: a replay that hangs is not detected", lower.opt.dir);
}

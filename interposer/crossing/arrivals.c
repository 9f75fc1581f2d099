#include "crossing/arrivals.h"
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "arch/thread_pointer.h"
#include "crossing/own_thread.h"
#include "crossing/schedule.h"
#include "base/thread.h"

enum {
	PATIENCE_NS = 200000, /* time without an event after which the program is stopped */
	AGAIN_NS = 1000000,
	MANY = 4096,
};

enum { RUNNING = 0, STILL = 1, VISITED = 2 }; /* values of `still` in struct thread */

bool arrivals_possible;
volatile bool arrivals_waiting;

static struct {
	bool started;
	uint32_t bell;     /* futex: counts arrivals */
	struct thread us;  /* thread_self() of our thread */
	struct event took; /* what was written since the last event, by our thread */
	unsigned many;     /* more chunks than this are compacted */
} arrivals;

static void ring(void)
{
	__atomic_add_fetch(&arrivals.bell, 1, __ATOMIC_RELEASE);
	raw_syscall(SYS_futex, (long)&arrivals.bell, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void arrivals_came(void)
{
	__atomic_store_n(&arrivals_waiting, true, __ATOMIC_SEQ_CST);
	ring();
}

static void carry_out(void)
{
	/* first: what comes from here on is announced again */
	__atomic_store_n(&arrivals_waiting, false, __ATOMIC_SEQ_CST);
	host_progress();
}

void arrivals_at_event(struct event *ev)
{
	if (!event_takes_chunks(ev))
		return;
	if (arrivals.took.nchunks)
		event_adopt(ev, &arrivals.took);
	/* inside a callback the plug-in that called it is not to be entered again */
	if (arrivals_waiting && (thread_self()->depth == 1 || ev->kind == LOG_PREEMPT))
		carry_out();
}

/* ---- while no upper thread runs ---- */

void arrivals_still_begin(void)
{
	if (arrivals_possible)
		__atomic_store_n(&thread_self()->still, STILL, __ATOMIC_SEQ_CST);
	if (arrivals_waiting)
		ring();
}

void arrivals_still_end(void)
{
	struct thread *self = thread_self();
	if (!arrivals_possible || self->still == RUNNING)
		return;
	uint32_t expected = STILL;
	while (!__atomic_compare_exchange_n(&self->still, &expected, RUNNING, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST)) {
		raw_syscall(SYS_futex, (long)&self->still, FUTEX_WAIT_PRIVATE, VISITED, 0, 0, 0);
		expected = STILL;
	}
}

/* Carries out arrivals if no upper thread runs; none returns from its wait before this ends.  False: one runs. */
static bool while_nobody_runs(void)
{
	if (!recording()) {
		carry_out();
		return true;
	}
	struct thread *visited = schedule->visit(&arrivals.us, STILL, VISITED);
	if (!visited)
		return false;
	carry_out();
	if (arrivals.took.nchunks > arrivals.many) {
		event_compact(&arrivals.took);
		arrivals.many = arrivals.took.nchunks < MANY ? MANY : 2 * arrivals.took.nchunks;
	}
	if (visited == &arrivals.us) {
		schedule->give();
		return true;
	}
	__atomic_store_n(&visited->still, STILL, __ATOMIC_SEQ_CST);
	raw_syscall(SYS_futex, (long)&visited->still, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	return true;
}

static void await_bell(uint32_t heard, long ns)
{
	const struct timespec at_most = {.tv_nsec = ns};
	raw_syscall(SYS_futex, (long)&arrivals.bell, FUTEX_WAIT_PRIVATE, heard, ns ? (long)&at_most : 0, 0, 0);
}

static void *attend(void *arg)
{
	own_pointer_set((uint64_t)&arrivals.us);
	for (;;) {
		uint32_t heard = __atomic_load_n(&arrivals.bell, __ATOMIC_ACQUIRE);
		if (!arrivals_waiting) {
			await_bell(heard, 0);
			continue;
		}
		if (while_nobody_runs())
			continue;
		for (long ns = PATIENCE_NS; arrivals_waiting; ns = AGAIN_NS) {
			heard = __atomic_load_n(&arrivals.bell, __ATOMIC_ACQUIRE);
			await_bell(heard, ns);
			if (!arrivals_waiting || while_nobody_runs())
				break;
			schedule->remind();
		}
	}
	return NULL;
}

void arrivals_begin(void)
{
	if (arrivals.started)
		return;
	arrivals.us.depth = 1;
	arrivals.us.events = &arrivals.took;
	arrivals_possible = true;
	const int rc = own_thread(attend, NULL);
	if (rc)
		rdb_fatal("cannot start the thread that handles incoming RDMA and one-sided operations: %s",
			  strerror(rc));
	arrivals.started = true;
}

void arrivals_in_child(void)
{
	arrivals.started = arrivals_possible = arrivals_waiting = false;
	arrivals.took.nchunks = arrivals.took.notes_used = arrivals.took.more_used = 0;
	thread_self()->still = RUNNING;
}

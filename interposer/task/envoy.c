#include "task/envoy.h"
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "arch/thread_pointer.h"
#include "base/lower.h"
#include "base/monotonic.h"
#include "base/thread.h"
#include "crossing/own_thread.h"
#include "space/cautions.h"
#include "space/floors.h"
#include "space/rank_files.h"
#include "space/shared_turns.h"
#include "task/baton.h"

enum { WORTH = 8, STEP_NS = 1000000, LONGEST_NS = 2000000000 }; /* much less than others wait (floors.c) */

static void call(void);

static struct {
	struct thread self;
	uint32_t called; /* futex: counts calls */
	bool begun, ends;
	uint64_t took_ns, settle_ns; /* when it took the floors; how long it last took to compare all memory */
} envoy = {.self.stands_in = call};

/* The envoy has the baton, and a thread of the program wants it. */
static void call(void)
{
	__atomic_add_fetch(&envoy.called, 1, __ATOMIC_SEQ_CST);
	raw_syscall(SYS_futex, (long)&envoy.called, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void too_much(void)
{
	static bool said;
	if (!said)
		caution("this process shares more than %d pieces of memory: it takes turns only with those that have the "
			"others, and a replay may differ from here on",
			FLOORS_MOST - 2);
	said = true;
}

/* `key`: of memory that is about to be mapped; 0: none. */
static void take_floors(uint64_t key)
{
	static uint64_t keys[FLOORS_MOST];
	unsigned n = shared_keys(keys, FLOORS_MOST - 1);
	if (key)
		keys[n++] = key;
	if (n >= FLOORS_MOST - 1)
		too_much();
	const uint32_t kept = floors_take(keys, n);
	if (kept)
		caution("process %u, which shares memory with this one, had not given way for 10 seconds, and did not "
			"wait in a way that rdb knows: a replay of either may differ from here on",
			kept);
	shared_others_ran();
	envoy.took_ns = monotonic_ns();
}

static void give_floors(void)
{
	const uint64_t begun_ns = monotonic_ns();
	shared_settle();
	envoy.settle_ns = monotonic_ns() - begun_ns;
	floors_give();
}

/* A turn costs two comparisons.  So much memory makes it longer; a process that only waits gives it up at once. */
static void use_turn(void)
{
	const uint64_t cost = WORTH * envoy.settle_ns, until = envoy.took_ns + (cost < LONGEST_NS ? cost : LONGEST_NS);
	const struct timespec step = {.tv_nsec = STEP_NS};
	while (monotonic_ns() + STEP_NS < until && !baton_free() && !__atomic_load_n(&envoy.ends, __ATOMIC_SEQ_CST))
		nanosleep(&step, NULL);
}

static void *stand_in(void *arg)
{
	own_pointer_set((uint64_t)&envoy.self);
	(void)arg;
	__atomic_store_n(&envoy.self.carrier, (int32_t)raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), __ATOMIC_SEQ_CST);
	while (floors_await_others(&envoy.ends)) {
		const uint32_t called = __atomic_load_n(&envoy.called, __ATOMIC_SEQ_CST);
		use_turn();
		baton_take();
		if (!recording()) /* all may run at once */
			break;
		give_floors();
		while (__atomic_load_n(&envoy.called, __ATOMIC_SEQ_CST) == called && !baton_wanted())
			raw_syscall(SYS_futex, (long)&envoy.called, FUTEX_WAIT_PRIVATE, called, 0, 0, 0);
		take_floors(0);
		baton_give();
	}
	return NULL;
}

static int start(void)
{
	envoy.self.carrier = 0;
	const int rc = own_thread(stand_in, NULL);
	while (!rc && !__atomic_load_n(&envoy.self.carrier, __ATOMIC_SEQ_CST))
		sched_yield();
	return rc;
}

static void cannot(int error)
{
	floors_leave();
	lower.shares = false;
	caution("this process cannot take turns with those with which it shares memory (%s): a replay may differ from "
		"here on",
		strerror(error));
}

static void take_again(uint64_t key)
{
	give_floors();
	take_floors(key);
}

void envoy_begin(uint64_t key)
{
	const bool begins = !envoy.begun;
	envoy.begun = true;
	int rc = begins ? -floors_join() : 0;
	if (!rc && begins) {
		lower.shares = true;
		rc = start();
	}
	if (rc)
		cannot(rc);
	else if (lower.shares)
		take_again(key);
}

void envoy_lend(void)
{
	give_floors();
}

void envoy_return(void)
{
	take_again(0);
}

void envoy_rest(void)
{
	if (!lower.shares)
		return;
	__atomic_store_n(&envoy.ends, true, __ATOMIC_SEQ_CST);
	floors_look();
	/* it may wait for the baton; it gives it back before it ends */
	while (!raw_syscall(SYS_tgkill, lower.pid, envoy.self.carrier, 0, 0, 0, 0)) {
		baton_yield();
		sched_yield();
	}
}

void envoy_back(void)
{
	envoy.ends = false;
	const int rc = lower.shares ? start() : 0;
	if (rc)
		cannot(rc);
}

void envoy_forked(void)
{
	envoy.begun = envoy.ends = lower.shares = false;
	floors_forked();
}

void envoy_leave(void)
{
	rank_files_leave();
	floors_leave();
}

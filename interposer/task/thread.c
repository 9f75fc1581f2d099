#include "task/thread.h"
#include "arch/gate_frame.h"
#include "arch/thread_pointer.h"
#include "arch/context.h"
#include "arch/registers.h"
#include "text/traps.h"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "base/pids.h"
#include "task/baton.h"
#include "task/clock_ids.h"
#include "crossing/boundary.h"

static struct {
	struct thread *first, *spare;
	uint32_t lock;
	uint32_t walks; /* under way without the lock */
} threads;

static void *lower_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Everything a thread needs lies in one mapping: signal stack, lower stack, its struct, its events. */
static struct thread *make(void)
{
	size_t own = (sizeof(struct thread) + EVENTS_NESTED * sizeof(struct event) + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	char *p = lower_map(SIGNAL_STACK + LOWER_STACK + own);
	if (!p)
		return NULL;
	struct thread *t = (void *)(p + SIGNAL_STACK + LOWER_STACK);
	t->signal_stack = p;
	t->events = (void *)(t + 1);
	gate_state_begin(&t->gate, (uint64_t)t); /* the lower stack ends where the struct begins */
	return t;
}

static void recycle(struct thread *t)
{
	struct thread clean = {.signal_stack = t->signal_stack, .events = t->events};
	gate_state_begin(&clean.gate, (uint64_t)t);
	*t = clean;
}

struct thread *threads_add(const struct upper_thread *u)
{
	/* a walk may stand at one of them */
	struct thread *t = __atomic_load_n(&threads.walks, __ATOMIC_SEQ_CST) ? NULL : threads.spare,
		      **at = &threads.first;
	if (t) {
		threads.spare = t->spare;
		recycle(t);
	} else {
		t = make();
	}
	if (!t)
		return NULL;
	t->upper = *u;
	while (*at)
		at = &(*at)->next;
	__atomic_store_n(at, t, __ATOMIC_RELEASE);
	lower.threads++;
	return t;
}

void threads_remove(struct thread *t, bool carrier_stays)
{
	struct thread **at = &threads.first;
	while (*at && *at != t)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = t->next;
	lower.threads--;
	if (carrier_stays)
		return;
	t->spare = threads.spare;
	threads.spare = t;
}

struct thread *threads_first(void)
{
	return threads.first;
}

void threads_walk_begin(void)
{
	__atomic_add_fetch(&threads.walks, 1, __ATOMIC_SEQ_CST);
}

void threads_walk_end(void)
{
	__atomic_sub_fetch(&threads.walks, 1, __ATOMIC_SEQ_CST);
}

struct thread *threads_find(uint32_t number)
{
	threads_walk_begin();
	struct thread *t = threads.first;
	while (t && t->upper.number != number)
		t = t->next;
	threads_walk_end();
	return t;
}

int64_t thread_processor_ns(const struct thread *t)
{
	return (int64_t)clock_ns(~t->carrier << 3 | CLOCK_OF_THREAD | CLOCK_OF_SCHED) + t->processor_ahead;
}

uint64_t threads_number_now(uint64_t tid)
{
	if (!pids())
		return tid;
	uint64_t now = 0;
	threads_walk_begin();
	for (const struct thread *t = threads.first; t && !now; t = t->next)
		now = t->upper.tid == (int32_t)tid ? (uint64_t)t->carrier : 0;
	threads_walk_end();
	return now ? now : pid_now(tid);
}

int32_t threads_number_known(int32_t now)
{
	int32_t known = 0;
	threads_walk_begin();
	for (const struct thread *t = pids() ? threads.first : NULL; t && !known; t = t->next)
		known = t->carrier == now ? t->upper.tid : 0;
	threads_walk_end();
	return known ? known : pid_known(now);
}

void thread_unwind(struct thread *t)
{
	const uint64_t tls = t->gate.lower_tls;
	gate_state_begin(&t->gate, (uint64_t)t);
	t->gate.lower_tls = tls;
	t->uc = NULL;
	t->frame = NULL;
	t->depth = 0;
	t->trap_in_flight = t->deliver = false;
}

bool threads_at_rest(void)
{
	const struct thread *self = thread_self();
	for (const struct thread *t = threads.first; t; t = t->next)
		if (t->gate.upcall_sp)
			return false;
	return self->state == THREAD_RUNS && !self->depth;
}

void threads_lock(void)
{
	while (__atomic_exchange_n(&threads.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

void threads_unlock(void)
{
	__atomic_store_n(&threads.lock, 0, __ATOMIC_RELEASE);
}

int threads_init(void)
{
	const struct upper_thread first = {.number = 1, .tid = lower.upper.pid = (int32_t)lower.pid};
	struct thread *t = threads_add(&first);
	if (!t)
		return -ENOMEM;
	lower.upper.threads_made = 1;
	t->carrier = (int32_t)lower.pid;
	t->gate.lower_tls = thread_pointer();
	own_pointer_set((uint64_t)t);
	baton_reset();
	return 0;
}

void threads_forked(void)
{
	struct thread *me = thread_self();
	threads.walks = 0;
	for (struct thread *t = threads.first, *next; t; t = next) {
		next = t->next;
		if (t != me)
			threads_remove(t, false);
	}
	lower.upper.threads_made = 1;
	me->upper.number = 1;
	me->carrier = (int32_t)lower.pid;
	me->upper.tid = lower.upper.pid = pid_known(me->carrier);
	me->depth = 0;
	me->frame = NULL;
	me->deliver = false;
	me->yield = false;
	me->reminded = 0;
	baton_reset();
	me->look_made = me->looked = false;
	me->patient = me->patience_made = false; /* timers are not inherited: timer_create(2) */
}

void thread_context_after_upcall(const struct thread *t, ucontext_t *uc)
{
	memset(uc, 0, sizeof(*uc));
	gate_frame_behind_upcall(uc, t->frame, t->upcall_result);
}

void thread_context(const struct thread *t, ucontext_t *uc)
{
	memset(uc, 0, sizeof(*uc));
	if (t->frame) {
		gate_frame_before(uc, t->frame);
	} else if (t->uc) {
		uc_share(uc, t->uc);
		uc_step(uc, false);
		if (t->state == THREAD_ASKS)
			UC_PC(uc) = t->asks_at;
	} else {
		context_look(uc, &t->start);
	}
}

void thread_traps(void)
{
	struct thread *self = thread_self();
	const unsigned which = traps_now();
	if (!lower.started || !(which & ~self->traps))
		return;
	traps_set(true);
	self->traps |= which;
}

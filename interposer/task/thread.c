#include "task/thread.h"
#include "text/traps.h"
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "task/baton.h"
#include "crossing/boundary.h"

static struct {
	struct thread *first, *spare;
	uint32_t lock;
} threads;

static void *lower_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* opmask, ZMM_Hi256, Hi16_ZMM: there, and enabled by the kernel (XCR0) */
static bool has_avx512(void)
{
	unsigned a, b, c, d;
	uint32_t low, high;
	if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d) || (a & 0xe0) != 0xe0)
		return false;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & 0xe0) == 0xe0;
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
	t->gate.lower_sp = (uint64_t)(p + SIGNAL_STACK + LOWER_STACK);
	t->gate.avx512 = has_avx512();
	return t;
}

static void recycle(struct thread *t)
{
	struct thread clean = {.signal_stack = t->signal_stack, .events = t->events};
	clean.gate.lower_sp = (uint64_t)t; /* the lower stack ends where the struct begins */
	clean.gate.avx512 = t->gate.avx512;
	*t = clean;
}

struct thread *threads_add(const struct upper_thread *u)
{
	struct thread *t = threads.spare, **at = &threads.first;
	if (t) {
		threads.spare = t->next;
		recycle(t);
	} else {
		t = make();
	}
	if (!t)
		return NULL;
	t->upper = *u;
	while (*at)
		at = &(*at)->next;
	t->next = NULL;
	*at = t;
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
	t->next = threads.spare;
	threads.spare = t;
}

struct thread *threads_first(void)
{
	return threads.first;
}

struct thread *threads_find(uint32_t number)
{
	struct thread *t = threads.first;
	while (t && t->upper.number != number)
		t = t->next;
	return t;
}

static bool process_known_as(int32_t pid)
{
	return pid && (pid == lower.was_pid || pid == (int32_t)lower.upper.first_pid);
}

bool thread_known_as(const struct thread *t, int32_t tid)
{
	return tid == t->upper.tid || (t->upper.number == 1 && process_known_as(tid));
}

uint64_t threads_process_now(uint64_t pid)
{
	return process_known_as((int32_t)pid) ? (uint64_t)lower.pid : pid;
}

uint64_t threads_number_now(uint64_t tid)
{
	if (!lower.upper.first_pid)
		return tid; /* it was not restarted */
	for (const struct thread *t = threads.first; t; t = t->next)
		if (t->upper.tid == (int32_t)tid && t->carrier)
			return (uint64_t)t->carrier;
	return threads_process_now(tid);
}

void thread_unwind(struct thread *t)
{
	const uint64_t fs = t->gate.lower_fs, avx512 = t->gate.avx512;
	t->gate = (struct gate_state){.lower_sp = (uint64_t)t, .lower_fs = fs, .avx512 = avx512};
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
	const struct upper_thread first = {.number = 1, .tid = (int32_t)lower.pid};
	struct thread *t = threads_add(&first);
	if (!t)
		return -ENOMEM;
	lower.upper.threads_made = 1;
	t->carrier = (int32_t)lower.pid;
	t->gate.lower_fs = __builtin_ia32_rdfsbase64();
	__builtin_ia32_wrgsbase64((uint64_t)t);
	baton_reset();
	return 0;
}

void threads_forked(void)
{
	struct thread *me = thread_self();
	for (struct thread *t = threads.first, *next; t; t = next) {
		next = t->next;
		if (t != me)
			threads_remove(t, false);
	}
	lower.upper.threads_made = 1;
	me->upper.number = 1;
	me->upper.tid = me->carrier = (int32_t)lower.pid;
	me->depth = 0;
	me->frame = NULL;
	me->deliver = false;
	me->pending = 0;
	me->yield = false;
	me->reminded = 0;
	baton_reset();
	me->look_made = me->looked = false;
	me->patient = me->patience_made = false; /* timers are not inherited: timer_create(2) */
}

static void before_hypercall(const struct gate_frame *frame, ucontext_t *uc)
{
	UC_REG(uc, RIP) = *(const uint64_t *)frame->rsp - RDB_GATE_CALL;
	gate_frame_kept(uc, frame);
	/* what the call itself needs (gate.h, rdb_gate_call); the others are lost to everybody */
	UC_REG(uc, RAX) = RDB_GATE;
	UC_REG(uc, RDI) = frame->fn;
	UC_REG(uc, RSI) = frame->nargs;
	UC_REG(uc, RDX) = frame->args;
}

/* gate.S, gate_upcall */
void thread_context_after_upcall(const struct thread *t, ucontext_t *uc)
{
	memset(uc, 0, sizeof(*uc));
	UC_REG(uc, EFL) = 0x202;
	UC_REG(uc, CSGSFS) = 0x33;
	UC_REG(uc, RIP) = RDB_GATE_CODE + GATE_CODE_UPCALL_RETURN;
	UC_REG(uc, RSP) = (t->frame->rsp - RDB_UPCALL_ROOM) & ~15ul;
	UC_REG(uc, RBP) = t->frame->rbp;
	UC_REG(uc, RAX) = t->upcall_result;
}

void thread_context(const struct thread *t, ucontext_t *uc)
{
	memset(uc, 0, sizeof(*uc));
	UC_REG(uc, EFL) = 0x202;
	UC_REG(uc, CSGSFS) = 0x33;
	if (t->frame) {
		before_hypercall(t->frame, uc);
	} else if (t->uc) {
		memcpy(uc->uc_mcontext.gregs, t->uc->uc_mcontext.gregs, sizeof(uc->uc_mcontext.gregs));
		uc->uc_mcontext.fpregs = t->uc->uc_mcontext.fpregs;
		UC_REG(uc, EFL) &= ~EFLAGS_TF;
		if (t->state == THREAD_ASKS)
			UC_REG(uc, RIP) = t->asks_at;
	} else {
		memcpy(uc->uc_mcontext.gregs, t->start.gregs, sizeof(uc->uc_mcontext.gregs));
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

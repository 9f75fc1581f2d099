#include "task/halt.h"
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/lower.h"
#include "base/monotonic.h"
#include "task/signals.h"

/* GRACE: others stand still so long for a thread that does not come.  LATER: after that they are left alone for so
 * long. */
static const uint64_t GRACE_NS = 20 * 1000000ul, LATER_NS = 100 * 1000000ul;
enum { SPINS = 20, NAP_NS = 100000 };

static struct {
	uint32_t released; /* futex: counts how often all were let go */
	uint32_t acting;   /* a thread acts for all; nobody leaves */
	struct thread *late;
	uint64_t late_until_ns, since_ns;
} halt;

void halt_nap(unsigned turn, unsigned spins, long ns)
{
	const struct timespec ts = {.tv_nsec = ns};
	if (turn < spins)
		sched_yield();
	else
		raw_syscall(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

static bool at_rest(const struct thread *t)
{
	return __atomic_load_n(&t->halted, __ATOMIC_SEQ_CST);
}

/* One signal at a time: signals of a thread that does not get to run would queue up. */
static void tell(struct thread *t)
{
	siginfo_t info = {
		.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE, .si_value.sival_ptr = (void *)SIGNALS_REST};
	if (t->carrier <= 0 || __atomic_exchange_n(&t->halt_told, 1, __ATOMIC_SEQ_CST))
		return;
	if (raw_syscall(SYS_rt_tgsigqueueinfo, lower.pid, t->carrier, SIGNALS_REMINDER, (long)&info, 0, 0))
		__atomic_store_n(&t->halt_told, 0, __ATOMIC_SEQ_CST);
}

bool halt_told(struct thread *self, const siginfo_t *info)
{
	if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != (void *)SIGNALS_REST)
		return false;
	__atomic_store_n(&self->halt_told, 0, __ATOMIC_SEQ_CST);
	return true;
}

static void leave_alone(struct thread *t)
{
	halt.late = t;
	halt.late_until_ns = monotonic_ns() + LATER_NS;
}

/* Tells the threads that have not come to rest to do so.  Returns one of them; NULL: all have.  No thread can make
 * another then. */
static struct thread *ask_all(const struct thread *self)
{
	struct thread *late = NULL;
	__atomic_store_n(&halt_wanted, 1, __ATOMIC_SEQ_CST);
	threads_lock();
	for (struct thread *t = threads_first(); t; t = t->next)
		if (t != self && !at_rest(t)) {
			tell(t);
			late = t;
		}
	threads_unlock();
	return late;
}

static bool all_come(const struct thread *self)
{
	const uint64_t until = monotonic_ns() + GRACE_NS;
	struct thread *late;
	for (unsigned turn = 0; (late = ask_all(self)); turn++) {
		if (monotonic_ns() > until) {
			leave_alone(late);
			return false;
		}
		halt_nap(turn, SPINS, NAP_NS);
	}
	return true;
}

static void let_go(void)
{
	__atomic_store_n(&halt_wanted, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&halt.acting, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&halt.released, 1, __ATOMIC_SEQ_CST);
	raw_syscall(SYS_futex, (long)&halt.released, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
}

static bool act_for_all(const ucontext_t *uc, bool (*act)(const ucontext_t *uc))
{
	__atomic_store_n(&halt.acting, 1, __ATOMIC_SEQ_CST);
	halt.since_ns = monotonic_ns();
	bool done = all_come(thread_self()) && act(uc);
	let_go();
	return done;
}

/* Waits until all are let go.  False: the thread that acts for all does not come. */
static bool stand(struct thread *self, struct thread *first, uint32_t released)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	const uint64_t until = monotonic_ns() + GRACE_NS;
	while (__atomic_load_n(&halt.released, __ATOMIC_SEQ_CST) == released) {
		if (!__atomic_load_n(&halt.acting, __ATOMIC_SEQ_CST)) {
			tell(first);
			if (monotonic_ns() > until) {
				__atomic_store_n(&self->halted, 0, __ATOMIC_SEQ_CST);
				if (!__atomic_load_n(&halt.acting, __ATOMIC_SEQ_CST)) {
					__atomic_store_n(&halt_wanted, 0, __ATOMIC_SEQ_CST);
					leave_alone(first);
					return false;
				}
				__atomic_store_n(&self->halted, 1, __ATOMIC_SEQ_CST);
			}
		}
		raw_syscall(SYS_futex, (long)&halt.released, FUTEX_WAIT_PRIVATE, released, (long)&nap, 0, 0);
	}
	return true;
}

/* Is a thread in a plug-in without the right to run: inside a call that waits for other processes? */
static bool somebody_away(void)
{
	bool away = false;
	threads_lock();
	for (const struct thread *t = threads_first(); t; t = t->next)
		away |= t->away;
	threads_unlock();
	return away;
}

/* Waits for threads in plug-ins, but only before a call of MPI: else there would always be one thread in some call. */
static bool all_here(const struct thread *self, bool waits)
{
	const uint64_t until = monotonic_ns() + GRACE_NS;
	for (unsigned turn = 0; somebody_away(); turn++) {
		if (!self->frame || waits || monotonic_ns() > until)
			return false;
		halt_nap(turn, SPINS, NAP_NS);
	}
	return true;
}

bool halt_here(const ucontext_t *uc, bool (*complete)(void *), void *arg, bool (*act)(const ucontext_t *uc))
{
	struct thread *self = thread_self();
	if (halt.late && halt.late != self && monotonic_ns() < halt.late_until_ns)
		return false;
	if (self->state == THREAD_ENDS || !all_here(self, complete != NULL))
		return false;
	if (halt.late == self)
		halt.late = NULL;
	struct thread *first = threads_find(1);
	if (!first)
		first = threads_first();
	const uint32_t released = __atomic_load_n(&halt.released, __ATOMIC_SEQ_CST);
	struct gate_frame *frame = self->frame;
	ucontext_t *before = self->uc;
	const enum thread_state state = self->state;
	if (uc) { /* an image has the thread as stopped in a computation */
		self->frame = NULL;
		self->uc = (ucontext_t *)uc;
		self->state = THREAD_READY;
	}
	self->complete = complete;
	self->complete_arg = arg;
	__atomic_store_n(&halt_wanted, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&self->halted, 1, __ATOMIC_SEQ_CST);
	bool done = first == self ? act_for_all(uc, act) : stand(self, first, released);
	__atomic_store_n(&self->halted, 0, __ATOMIC_SEQ_CST);
	self->complete = NULL;
	self->state = state;
	self->uc = before;
	self->frame = frame;
	return done;
}

uint64_t halt_since_ns(void)
{
	return halt.since_ns;
}

bool halt_any_complete(void)
{
	for (struct thread *t = threads_first(); t; t = t->next)
		if (t->complete && t->complete(t->complete_arg))
			return true;
	return false;
}

bool halt_all_wait(void)
{
	bool any = false;
	for (const struct thread *t = threads_first(); t; t = t->next) {
		const bool in_plugin = t->frame && t->complete, in_kernel = !t->frame && !t->asked_ns;
		if (t->state != THREAD_ASKS || !(in_plugin || in_kernel))
			return false;
		any |= in_plugin;
	}
	return any;
}

uint64_t halt_waited_ns(const struct thread *t)
{
	if (t->state != THREAD_ASKS)
		return 0;
	const uint64_t now = monotonic_ns();
	return t->asked_ns && t->asked_ns < now ? now - t->asked_ns : 1;
}

void halt_forked(void)
{
	halt_wanted = 0;
	halt.acting = 0;
	halt.late = NULL;
}

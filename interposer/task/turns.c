/* Switching threads in a replay, as the log says. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include "arch/thread_pointer.h"
#include "arch/context.h"
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "marks/mark.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"

/* rdb's own signals (those of the agent and of patience.h) must not come while the kernel has the signal stack of another
 * thread: their frames would lie over what that thread has parked there. */
static void hold_interrupts(int how)
{
	const uint64_t ours = BIT(SIGUSR1) | BIT(SIGPROF) | BIT(SIGVTALRM);
	raw_syscall(SYS_rt_sigprocmask, how, (long)&ours, 0, 8, 0, 0);
}

/* The calling thread is t now, on t's stack: the kernel refuses to change a signal stack that is in use. */
static void arrived(const struct thread *t)
{
	if (boundary_signal_stack(t))
		rdb_fatal("thread %u has no signal stack", t->upper.number);
	hold_interrupts(SIG_UNBLOCK);
}

/* The thread that goes on.  Until arrived() has changed the signal stack thread_self() must not be called: where the
 * instruction is emulated (fsgsbase.h) that raises a signal, on the stack of the thread before. */
static struct thread *going;

static void go(uint64_t *save_sp, struct thread *t)
{
	hold_interrupts(SIG_BLOCK);
	own_pointer_set((uint64_t)t);
	going = t;
	if (lower.mode->switched)
		lower.mode->switched();
	coroutine_switch(save_sp, t->parked_sp);
}

struct thread *turns_arrived(void)
{
	struct thread *self = going;
	arrived(self);
	return self;
}

/* Its first instructions: from here into upper code by the start call (gate_asm.h). */
static void begin(void)
{
	const struct thread *self = turns_arrived();
	gate_enter(RDB_GATE_CODE + GATE_CODE_START, context_sp(&self->start));
}

void turns_prepare(struct thread *t, void (*entry)(void))
{
	uint64_t *sp = (uint64_t *)t->gate.lower_sp;
	*--sp = 0; /* no caller; keeps the stack aligned */
	*--sp = (uint64_t)(entry ? entry : begin);
	sp -= 6;
	memset(sp, 0, 6 * sizeof(*sp));
	t->parked_sp = (uint64_t)sp;
}

static void give_way(struct thread *t, ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (uc)
		uc_step(uc, false);
	/* a stepping agent asks again when this thread's event is answered */
	self->gate.trap = 0;
	self->trap_in_flight = false;
	go(&self->parked_sp, t);
	arrived(self);
}

/* NULL: the log is at its end, or the program live. */
static const struct log_record *next_record(void)
{
	return lower.mode->next ? lower.mode->next() : NULL;
}

static uint32_t next_thread(void)
{
	const struct log_record *rec = next_record();
	return rec ? rec->thread : 0;
}

static bool next_is(enum log_kind kind)
{
	const struct log_record *rec = next_record();
	return rec && rec->kind == kind && rec->thread == thread_self()->upper.number;
}

void turns_await(ucontext_t *uc)
{
	for (;;) {
		uint32_t next = next_thread();
		if (!next || next == thread_self()->upper.number)
			return;
		struct thread *t = threads_find(next);
		if (!t) {
			lower.mode->diverged(uc,
					     "event %lu was recorded in thread %u, which does not exist in the replay",
					     (unsigned long)lower.event + 1, next);
			return;
		}
		give_way(t, uc);
	}
}

void turns_go(struct thread *t)
{
	go(&thread_self()->parked_sp, t);
	__builtin_unreachable();
}

void turns_leave(ucontext_t *uc)
{
	if (lower.mode->thread_ended)
		lower.mode->thread_ended();
	uint32_t next = next_thread();
	if (!next)
		lower.mode->ended(uc);
	struct thread *self = thread_self(), *t = threads_find(next);
	threads_remove(self, false);
	if (!t || t == self)
		lower.mode->diverged(uc, "event %lu was recorded in thread %u, which does not exist in the replay",
				     (unsigned long)lower.event + 1, next);
	turns_go(t);
}

static void answered(enum log_kind kind, ucontext_t *uc)
{
	struct event *ev = event_begin(kind, 0, NULL, 0);
	lower.mode->answer(ev, uc);
	event_end(ev);
	/* before the agent stops here, which asks whether an instruction comes next */
	thread_self()->state = kind == LOG_PREEMPT ? THREAD_READY : THREAD_RUNS;
	event_answered(uc);
}

bool turns_pending(void)
{
	const struct thread *self = thread_self();
	const struct log_record *next = next_record();
	/* PREEMPT without RESUME: while it was recorded nobody else could run, so the thread goes on at once */
	const bool goes_on = self->state == THREAD_READY && next && LOG_IS_EVENT(next->kind) &&
			     next->kind != LOG_RESUME && next->thread == self->upper.number;
	return (self->state != THREAD_RUNS && !goes_on) || next_is(LOG_SIGNAL);
}

void turns_resumed(ucontext_t *uc)
{
	answered(LOG_RESUME, uc);
}

void turns_preempted(ucontext_t *uc)
{
	struct thread *self = thread_self();
	struct gate_frame *outer = self->frame;
	ucontext_t *before = self->uc;
	self->frame = NULL;
	self->uc = uc;
	answered(LOG_PREEMPT, uc);
	turns_await(uc);
	if (next_is(LOG_RESUME))
		answered(LOG_RESUME, uc);
	self->state = THREAD_RUNS;
	signals_want_delivery(uc);
	self->frame = outer;
	self->uc = before;
}

#include "restart/live/live_threads.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/context.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "crossing/boundary.h"
#include "restart/base/cut.h"
#include "replay/replay.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/baton.h"
#include "task/carrier.h"

static struct thread *moves; /* the running thread, if it gets a carrier of its own */

bool live_threads_at_rest(void)
{
	const struct thread *self = thread_self();
	for (const struct thread *t = threads_first(); t; t = t->next)
		if (t->gate.upcall_sp)
			return false;
	return !self->depth && (self->state == THREAD_RUNS || self->state == THREAD_READY);
}

static void part(struct thread *t, uint64_t now_ns)
{
	ucontext_t parked;
	if (t->frame || t->uc) {
		thread_context(t, &parked);
		context_save(&t->start, &parked);
		t->start_tls = t->upper.tls;
	} else {
		t->asked_ns = 0; /* the thread has not run since the image */
	}
	thread_unwind(t);
	if (t->state == THREAD_ASKS) {
		uint64_t since_ns = t->asked_ns ? t->asked_ns : replay_begun_ns();
		t->waited_ns = now_ns > since_ns ? now_ns - since_ns : 1;
	}
}

void live_threads_part(uint64_t now_ns)
{
	for (struct thread *t = threads_first(); t; t = t->next)
		if (t != thread_self())
			part(t, now_ns);
}

void live_threads_ended(void)
{
	replay_look_ahead();
	const struct log_record *next = replay_next_record();
	struct thread *self = thread_self(), *t = threads_find(next ? next->thread : 0);
	if (!t || t == self)
		t = threads_first() == self ? self->next : threads_first();
	threads_remove(self, false);
	part(t, replay_now_ns());
	t->state = THREAD_MOVES;
	turns_prepare(t, NULL);
	turns_go(t);
}

/* The thread that the process's first thread will carry: the first one if it still exists, since the MPI library and
 * the kernel know it so. */
static struct thread *stays(void)
{
	struct thread *first = threads_find(1);
	return first ? first : thread_self();
}

void live_threads_carried(void)
{
	struct thread *self = thread_self();
	const uint64_t fs = self->gate.lower_tls;
	for (struct thread *t = threads_first(); t; t = t->next) {
		t->kernel_mask = t->upper.sigmask & signals_wait_in_kernel();
		int rc = t == stays() ? 0 : carrier_start(t);
		if (rc)
			live_refuse("thread %u cannot be started: %s", t->upper.number, strerror(-rc));
	}
	self->gate.lower_tls = fs; /* its carrier sets it when it begins */
	stays()->carrier = (int32_t)lower.pid;
	stays()->processor_ahead -= (int64_t)thread_ns();
}

/* The process's first thread comes here to carry the program's first thread, on that thread's stacks. */
static void first_begins(void)
{
	struct thread *first = turns_arrived();
	thread_unwind(moves);
	moves->state = THREAD_MOVES;
	carrier_begin(moves); /* `moves` has the baton */
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&first->kernel_mask, 0, 8, 0, 0);
	baton_take();
	gate_enter(RDB_GATE_CODE + GATE_CODE_START, context_sp(&first->start));
}

void live_thread_named(const struct thread *t, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", t->carrier);
	const int fd = descriptor_open(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd >= 0 && write(fd, name, strnlen(name, sizeof(t->upper.name))) < 0)
		rdb_warn("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

void live_threads_named(void)
{
	const char *program = strrchr(lower.upper.exe, '/');
	for (const struct thread *t = threads_first(); t; t = t->next)
		live_thread_named(t, *t->upper.name ? t->upper.name : program ? program + 1 : "");
}

void live_threads_begin(const ucontext_t *uc)
{
	const uint64_t all = ~(BIT(SIGSEGV) | BIT(SIGILL));
	struct thread *self = thread_self();
	/* a thread that has begun may have ended already, and be in no list */
	for (struct thread *t = threads_first(), *next; t; t = next) {
		next = t->next;
		if (t != self && t != stays())
			carrier_begin(t);
	}
	if (stays() == self)
		return;
	context_save(&self->start, uc);
	self->start_tls = self->upper.tls;
	moves = self;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, 8, 0, 0);
	turns_prepare(stays(), first_begins);
	turns_go(stays());
}

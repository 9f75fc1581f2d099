/* Threads coming and going: clone(2) with CLONE_THREAD, exit(2), set_robust_list(2). */
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>
#include "task/baton.h"
#include "task/carrier.h"
#include "crossing/boundary.h"
#include "task/computation.h"
#include "task/signals.h"
#include "task/thread.h"

enum { ROBUST_MAX = 2048 };

static void futex_wake(uint64_t addr, int n)
{
	raw_syscall(SYS_futex, (long)addr, FUTEX_WAKE, n, 0, 0, 0);
}

/* ---- coming ---- */

/* The same in every mode: what the new thread is like. */
static struct thread *prepare(const ucontext_t *uc, const struct clone_request *r)
{
	const struct upper_thread *mine = &thread_self()->upper;
	struct upper_thread u = {
		.number = lower.upper.threads_made + 1,
		.sigmask = mine->sigmask,
		.clear_child_tid = r->flags & CLONE_CHILD_CLEARTID ? r->child_tid : 0,
		.fs_base = r->flags & CLONE_SETTLS ? r->tls : mine->fs_base,
	};
	memcpy(u.name, mine->name, sizeof(u.name));
	struct thread *t = threads_add(&u);
	if (!t)
		return NULL;
	context_save(&t->start, uc);
	t->start.gregs[REG_RAX] = 0;
	t->start.gregs[REG_EFL] &= ~EFLAGS_TF;
	if (r->stack)
		t->start.gregs[REG_RSP] = r->stack;
	t->start_fs = u.fs_base;
	t->state = THREAD_READY;
	return t;
}

static void tell_tid(struct event *ev, uint64_t addr, int32_t tid)
{
	*(int32_t *)addr = tid;
	event_out(ev, (void *)addr, sizeof(tid));
}

long thread_clone(struct event *ev, const ucontext_t *uc, const struct clone_request *r)
{
	/* without a recording others may do the same */
	threads_lock();
	struct thread *t = prepare(uc, r);
	if (t)
		lower.upper.threads_made++;
	threads_unlock();
	if (!t)
		return -EAGAIN;
	t->kernel_mask = thread_self()->kernel_mask; /* inherited */
	int rc = carrier_start(t);
	if (rc) {
		threads_lock();
		threads_remove(t, false);
		lower.upper.threads_made -= recording(); /* a replay has not seen it */
		threads_unlock();
		return rc == -ENOMEM ? -EAGAIN : rc;
	}
	t->upper.tid = t->carrier;
	if (r->flags & CLONE_PARENT_SETTID)
		tell_tid(ev, r->parent_tid, t->upper.tid);
	if (r->flags & CLONE_CHILD_SETTID)
		tell_tid(ev, r->child_tid, t->upper.tid);
	event_note(ev, RDB_NOTE_THREAD, &t->upper.number, sizeof(t->upper.number));
	int32_t tid = t->upper.tid; /* without a recording it may be gone soon */
	carrier_begin(t);
	return tid;
}

void thread_cloned(const struct event *ev, const ucontext_t *uc, const struct clone_request *r)
{
	if (ev->result < 0)
		return;
	struct thread *t = prepare(uc, r);
	if (!t)
		rdb_fatal("no memory for thread %u", lower.upper.threads_made + 1);
	lower.upper.threads_made++;
	t->upper.tid = (int32_t)ev->result;
	t->gate.lower_fs = thread_self()->gate.lower_fs;
	turns_prepare(t, NULL);
}

void thread_started(ucontext_t *uc)
{
	struct thread *self = thread_self();
	ucontext_t *before = self->uc;
	context_load(uc, &self->start);
	self->upper.fs_base = self->start_fs;
	if (self->state == THREAD_MOVES) {
		self->state = THREAD_RUNS;
		if (lower.mode->cut)
			lower.mode->cut(uc, 0, NULL);
		return;
	}
	if (self->state != THREAD_READY)
		return; /* restored in the middle of a call, which it makes again */
	self->uc = uc;
	if (replaying())
		turns_resumed(uc);
	else
		computation_resumed(uc);
	self->state = THREAD_RUNS;
	signals_want_delivery(uc);
	self->uc = before;
}

/* ---- going ---- */

/* kernel/futex/core.c, handle_futex_death */
static void owner_died(uint64_t entry, int64_t offset)
{
	uint32_t *word = (uint32_t *)(entry + (uint64_t)offset);
	uint32_t v = *word;
	if (!thread_known_as(thread_self(), (int32_t)(v & FUTEX_TID_MASK)))
		return;
	*word = (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
	if ((v & FUTEX_WAITERS) && !replaying())
		futex_wake((uint64_t)word, 1);
}

/* set_robust_list(2): locks that the thread still holds, where the kernel has no list: in a replay, and of a carrier that lives on. */
static void release_robust(const struct upper_thread *u)
{
	const struct robust_list_head *head = (const void *)u->robust_list;
	if (!head || u->robust_len != sizeof(*head))
		return;
	uint64_t at = (uint64_t)head->list.next;
	for (unsigned i = 0; i < ROBUST_MAX && (at & ~1ul) != (uint64_t)&head->list; i++) {
		const struct robust_list *entry = (const void *)(at & ~1ul);
		uint64_t next = (uint64_t)entry->next;
		if ((uint64_t)entry != ((uint64_t)head->list_op_pending & ~1ul))
			owner_died((uint64_t)entry, head->futex_offset);
		at = next;
	}
	if (head->list_op_pending)
		owner_died((uint64_t)head->list_op_pending & ~1ul, head->futex_offset);
}

void thread_dying(void)
{
	struct thread *self = thread_self();
	release_robust(&self->upper);
	if (!replaying())
		raw_syscall(SYS_set_robust_list, 0, sizeof(struct robust_list_head), 0, 0, 0, 0);
	if (self->upper.clear_child_tid)
		*(uint32_t *)self->upper.clear_child_tid = 0;
	if (self->upper.clear_child_tid && !replaying())
		futex_wake(self->upper.clear_child_tid, 1);
	self->upper.sigmask = ~0ul;
}

void thread_exit(ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (replaying())
		turns_leave(uc);
	if (self->leave_sp) {
		UC_REG(uc, RIP) = (uint64_t)gate_carry_end;
		UC_REG(uc, RSP) = self->leave_sp;
		return;
	}
	/* The first thread is the process for the kernel (/proc/self), so its carrier stays. */
	signals_thread_gone(self);
	threads_lock();
	threads_remove(self, true);
	threads_unlock();
	baton_give();
	for (;;)
		raw_syscall(SYS_pause, 0, 0, 0, 0, 0, 0);
}

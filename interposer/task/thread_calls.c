/* Threads coming and going: clone(2) with CLONE_THREAD, exit(2), set_robust_list(2). */
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/context.h"
#include "arch/registers.h"
#include "base/pids.h"
#include "base/user.h"
#include "space/cautions.h"
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

/* Makes the new thread's struct, the same in every mode. */
static struct thread *prepare(const ucontext_t *uc, const struct clone_request *r)
{
	const struct upper_thread *mine = &thread_self()->upper;
	struct upper_thread u = {
		.number = lower.upper.threads_made + 1,
		.sigmask = mine->sigmask,
		.clear_child_tid = r->flags & CLONE_CHILD_CLEARTID ? r->child_tid : 0,
		.tls = r->flags & CLONE_SETTLS ? r->tls : mine->tls,
		.filter = mine->filter,
	};
	memcpy(u.name, mine->name, sizeof(u.name));
	struct thread *t = threads_add(&u);
	if (!t)
		return NULL;
	context_save(&t->start, uc);
	context_child(&t->start, r->stack);
	t->start_tls = u.tls;
	t->state = THREAD_READY;
	return t;
}

static void tell_tid(struct event *ev, uint64_t addr, int32_t tid)
{
	if (!user_write(addr, &tid, sizeof(tid))) /* the kernel does not report a failure either */
		event_out(ev, (void *)addr, sizeof(tid));
}

/* What the kernel gives a thread of its own on request, and a carrier gets by unshare(2). */
static uint64_t unshares(uint64_t flags)
{
	return (flags & (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)) |
	       (~flags & (CLONE_FS | CLONE_SYSVSEM));
}

/* Flags of clone(2) that mean nothing to a carrier. */
static void say_what_is_not_done(const struct clone_request *r)
{
	static unsigned said;
	const struct {
		bool asked;
		const char *what;
	} rows[] = {
		{!(r->flags & CLONE_FILES), "has its own descriptors (no CLONE_FILES): under rdb the thread shares "
					    "those of the process"},
		{r->flags & CLONE_VFORK, "suspends the calling thread (CLONE_VFORK): under rdb both run"},
		{r->flags & CLONE_NEWTIME, "has its own clocks (CLONE_NEWTIME): under rdb the thread has those of the "
					   "process"},
		{r->flags & CLONE_INTO_CGROUP, "is in another control group (CLONE_INTO_CGROUP): under rdb the thread "
					       "stays in that of the process"},
		{r->set_tid_size, "asks for a thread ID (set_tid): under rdb the kernel chooses it"}};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].asked && !(said & 1u << i)) {
			said |= 1u << i;
			caution("the program makes a thread that %s; it may behave differently than without rdb",
				rows[i].what);
		}
}

/* CLONE_PIDFD: puts the descriptor at the number kept for it; Linux 6.9 and later make one for a thread. */
static void tell_pidfd(struct event *ev, int place, const struct clone_request *r, const struct thread *t)
{
	const int fd = (int)raw_syscall(SYS_pidfd_open, t->carrier, O_EXCL /* PIDFD_THREAD */, 0, 0, 0, 0);
	if (fd >= 0) {
		dup3(fd, place, O_CLOEXEC);
		close(fd);
	}
	if (!user_write(r->pidfd, &place, sizeof(place)))
		event_out(ev, (void *)r->pidfd, sizeof(place));
}

long thread_clone(struct event *ev, const ucontext_t *uc, const struct clone_request *r)
{
	int place = 0;
	if (r->flags & CLONE_PIDFD)
		place = (int)raw_syscall(SYS_pidfd_open, thread_self()->carrier, O_EXCL, 0, 0, 0, 0);
	if (place >= 0 && r->flags & CLONE_PIDFD && user_write(r->pidfd, &place, sizeof(place))) {
		close(place);
		place = -EFAULT;
	}
	if (place < 0)
		return place;
	/* without a recording other threads may do the same */
	threads_lock();
	struct thread *t = prepare(uc, r);
	if (t)
		lower.upper.threads_made++;
	threads_unlock();
	if (!t)
		return -EAGAIN;
	t->kernel_mask = thread_self()->kernel_mask & ~thread_self()->held_back; /* inherited */
	t->unshares = unshares(r->flags);
	int rc = carrier_start(t);
	if (rc) {
		if (r->flags & CLONE_PIDFD)
			close(place);
		threads_lock();
		threads_remove(t, false);
		lower.upper.threads_made -= recording(); /* a replay has not seen it */
		threads_unlock();
		return rc == -ENOMEM ? -EAGAIN : rc;
	}
	t->upper.tid = pid_known(t->carrier);
	if (r->flags & CLONE_PARENT_SETTID)
		tell_tid(ev, r->parent_tid, t->upper.tid);
	if (r->flags & CLONE_CHILD_SETTID)
		tell_tid(ev, r->child_tid, t->upper.tid);
	if (r->flags & CLONE_PIDFD)
		tell_pidfd(ev, place, r, t);
	say_what_is_not_done(r);
	event_note(ev, RDB_NOTE_THREAD, &t->upper.number, sizeof(t->upper.number));
	int32_t tid = t->upper.tid; /* without a recording the thread may be gone soon */
	carrier_begin(t);
	return tid;
}

void thread_cloned(const struct event *ev, const ucontext_t *uc, const struct clone_request *r)
{
	if (ev->result < 0)
		return;
	struct thread *t = prepare(uc, r);
	if (!t)
		rdb_fatal("out of memory for thread %u", lower.upper.threads_made + 1);
	lower.upper.threads_made++;
	t->upper.tid = (int32_t)ev->result;
	t->gate.lower_tls = thread_self()->gate.lower_tls;
	turns_prepare(t, NULL);
}

void thread_started(ucontext_t *uc)
{
	struct thread *self = thread_self();
	ucontext_t *before = self->uc;
	context_load(uc, &self->start);
	self->upper.tls = self->start_tls;
	if (self->state == THREAD_MOVES) {
		self->state = THREAD_RUNS;
		if (lower.mode->cut)
			lower.mode->cut(uc, 0, NULL);
		return;
	}
	if (self->state != THREAD_READY)
		return; /* the thread was restored in the middle of a call, which it makes again */
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

struct swap {
	uint32_t *word, from, to;
};

static void swap(void *arg)
{
	struct swap *s = arg;
	__atomic_compare_exchange_n(s->word, &s->from, s->to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* kernel/futex/core.c, handle_futex_death.  False: the list is followed no further. */
static bool owner_died(uint64_t at)
{
	uint32_t v;
	if (at % sizeof(v) || user_read(&v, at, sizeof(v)))
		return false;
	while (thread_self()->upper.tid == (int32_t)(v & FUTEX_TID_MASK)) {
		struct swap s = {(uint32_t *)at, v, (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED};
		if (!guarded_call(swap, &s))
			return false;
		if (s.from == v) {
			if ((v & FUTEX_WAITERS) && !replaying())
				futex_wake(at, 1);
			return true;
		}
		v = s.from; /* another process has just changed it */
	}
	return true;
}

/* set_robust_list(2): releases locks that the thread still holds, where the kernel has no list: in a replay, and of a
 * carrier that lives on.  As kernel/futex/core.c, exit_robust_list: memory that is not there ends it. */
static void release_robust(const struct upper_thread *u)
{
	struct robust_list_head head;
	if (!u->robust_list || u->robust_len != sizeof(head) || user_read(&head, u->robust_list, sizeof(head)))
		return;
	const uint64_t offset = (uint64_t)head.futex_offset, pending = (uint64_t)head.list_op_pending & ~1ul;
	uint64_t at = (uint64_t)head.list.next & ~1ul, next;
	for (unsigned i = 0; i < ROBUST_MAX && at != u->robust_list; i++) {
		const bool more = !user_read(&next, at, sizeof(next));
		if ((at != pending && !owner_died(at + offset)) || !more)
			return;
		at = next & ~1ul;
	}
	if (pending)
		owner_died(pending + offset);
}

bool thread_robust_list(int32_t tid, uint64_t head_at, uint64_t len_at, long *result)
{
	const uint64_t len = sizeof(struct robust_list_head);
	const struct thread *t = tid ? threads_first() : thread_self();
	while (t && tid && t->upper.tid != tid)
		t = t->next;
	if (!t)
		return false;
	*result = user_write(len_at, &len, sizeof(len));
	if (!*result)
		*result = user_write(head_at, &t->upper.robust_list, sizeof(t->upper.robust_list));
	return true;
}

void thread_dying(void)
{
	struct thread *self = thread_self();
	release_robust(&self->upper);
	if (!replaying())
		raw_syscall(SYS_set_robust_list, 0, sizeof(struct robust_list_head), 0, 0, 0, 0);
	const uint32_t gone = 0;
	/* kernel/fork.c, mm_release: a bad address is no error */
	if (self->upper.clear_child_tid && !user_write(self->upper.clear_child_tid, &gone, sizeof(gone)) &&
	    !replaying())
		futex_wake(self->upper.clear_child_tid, 1);
	self->upper.sigmask = ~0ul;
}

void thread_exit(ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (replaying())
		turns_leave(uc);
	if (self->leave_sp) {
		UC_PC(uc) = (uint64_t)gate_carry_end;
		UC_SP(uc) = self->leave_sp;
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

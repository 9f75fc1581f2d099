/* The system calls about signals. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include "arch/registers.h"
#include "base/monotonic.h"
#include "base/user.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"

/* include/linux/signal_types.h, UAPI_SA_FLAGS: a program sees by the others which flags the kernel knows */
#define KNOWN_FLAGS \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND | \
	 0x800 /* SA_EXPOSE_TAGBITS */ | 0x04000000 /* SA_RESTORER */)

static uint64_t by_descriptor; /* signals that signalfd(2) reads: they wait in the kernel while they are blocked */

long signals_sigaction(int sig, uint64_t act, uint64_t old, size_t size)
{
	struct upper_sigaction *sa = &lower.upper.sigactions[sig > 0 && sig <= 64 ? sig : 0];
	struct upper_sigaction before = *sa, now; /* struct kernel_sigaction: handler, flags, restorer, mask */
	if (size != 8)
		return -EINVAL;
	if (act && user_read(&now, act, sizeof(now)))
		return -EFAULT;
	if (sig < 1 || sig > 64 || (act && (sig == SIGKILL || sig == SIGSTOP)))
		return -EINVAL;
	if (act) {
		*sa = now;
		sa->flags &= KNOWN_FLAGS;
		sa->mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
		if (signals_ignores(sig))
			signal_discard(sig); /* sigaction(3p): a pending signal that is ignored from now on is gone */
		signals_install_one(sig);
		signals_sync_kernel(thread_self());
	}
	return old ? user_write(old, &before, sizeof(before)) : 0;
}

long signals_sigprocmask(int how, uint64_t set, uint64_t old, size_t size)
{
	struct thread *self = thread_self();
	uint64_t *mask = &self->upper.sigmask;
	uint64_t before = *mask, arg;
	if (size != 8)
		return -EINVAL;
	if (set) {
		if (user_read(&arg, set, sizeof(arg)))
			return -EFAULT;
		arg &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
		if (how == SIG_BLOCK)
			*mask |= arg;
		else if (how == SIG_UNBLOCK)
			*mask &= ~arg;
		else if (how == SIG_SETMASK)
			*mask = arg;
		else
			return -EINVAL;
	}
	signals_sync_kernel(self);
	return old ? user_write(old, &before, sizeof(before)) : 0;
}

uint64_t signals_pending(void)
{
	struct thread *self = thread_self();
	uint64_t in_kernel = 0;
	signals_sync_kernel(self);
	raw_syscall(SYS_rt_sigpending, (long)&in_kernel, 8, 0, 0, 0, 0);
	return (signal_arrived(self) | in_kernel) & self->upper.sigmask;
}

void signals_show(const struct thread *t, struct signals_shown *shown)
{
	/* of the kernel's pending signals only those that the program keeps there are the program's */
	const uint64_t in_kernel = signals_wait_in_kernel() & t->upper.sigmask;
	shown->pending = (shown->pending & in_kernel) | t->pending;
	shown->shared = (shown->shared & in_kernel) | signal_shared();
	shown->blocked = t->upper.sigmask;
	shown->ignored = shown->caught = 0;
	for (int sig = 1; sig <= 64; sig++) {
		shown->ignored |= lower.upper.sigactions[sig].handler == (uint64_t)SIG_IGN ? BIT(sig) : 0;
		shown->caught |= signals_has_handler(sig) ? BIT(sig) : 0;
	}
}

/* signalfd(2) reads what waits in the kernel.  So signals that the program blocks and reads in that way are blocked
 * there, too, and those of which one waits here; others never are.  A signal may come here at any time and be held
 * back: a signal that kernel_mask calls blocked may be open, never the other way round. */
void signals_sync_kernel(struct thread *self)
{
	if (replaying())
		return;
	self->held_back &= signal_arrived(self);
	signals_hear(self->upper.sigmask);
	const uint64_t want = (signals_wait_in_kernel() & self->upper.sigmask) | self->held_back;
	const uint64_t open = self->kernel_mask & ~want, close = want & ~self->kernel_mask;
	if (open) {
		__atomic_and_fetch(&self->kernel_mask, ~open, __ATOMIC_SEQ_CST);
		raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&open, 0, 8, 0, 0);
	}
	if (close) {
		__atomic_or_fetch(&self->kernel_mask, close, __ATOMIC_SEQ_CST);
		raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&close, 0, 8, 0, 0);
	}
}

/* Signals that queue are all kept here, so that an image has them. */
void signals_hold_back(struct thread *self, int sig, const siginfo_t *info, ucontext_t *uc)
{
	const bool merges = sig < 32 || info->si_code == SI_TIMER;
	if (!merges || (SYNCHRONOUS & BIT(sig)) || sig == SIGNALS_REMINDER)
		return;
	__atomic_or_fetch(&self->held_back, BIT(sig), __ATOMIC_SEQ_CST);
	__atomic_or_fetch(&self->kernel_mask, BIT(sig), __ATOMIC_SEQ_CST);
	sigaddset(&uc->uc_sigmask, sig);
}

/* Must that thread block a signal in the kernel that it has blocked as the program knows it? */
static bool is_open(const struct thread *t)
{
	return by_descriptor & t->upper.sigmask & ~__atomic_load_n(&t->kernel_mask, __ATOMIC_SEQ_CST);
}

/* Other threads that wait in a call would take what is sent from now on.  One that cannot be told now, since it waits for
 * its turn, gives it back later. */
static void close_in_others(const struct thread *self)
{
	enum { MOST_NS = 100 * 1000 * 1000 };
	const uint64_t until = monotonic_ns() + MOST_NS;
	for (struct thread *t = threads_first(); t; t = t->next)
		if (t != self && is_open(t))
			signals_remind(t);
	for (struct thread *t = threads_first(); t; t = t->next)
		while (t != self && is_open(t) && monotonic_ns() < until)
			sched_yield();
}

void signals_by_descriptor(uint64_t set, bool others_run)
{
	struct thread *self = thread_self();
	by_descriptor |= set & ~(SYNCHRONOUS | BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGNALS_REMINDER));
	signals_sync_kernel(self);
	if (others_run) {
		threads_lock();
		close_in_others(self);
		threads_unlock();
	}
	signal_to_kernel(set);
}

uint64_t signals_wait_in_kernel(void)
{
	return by_descriptor | JOB_CONTROL;
}

/* kernel/signal.c, do_sigaltstack */
long signals_set_altstack(const stack_t *ss, uint64_t sp)
{
	struct upper_thread *u = &thread_self()->upper;
	const int mode = ss->ss_flags & ~(int)SS_AUTODISARM;
	if (signals_on_altstack(u, sp))
		return -EPERM;
	if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
		return -EINVAL;
	/* a stack that changes nothing may be too small */
	if ((uint64_t)ss->ss_sp == u->sigalt_sp && ss->ss_size == u->sigalt_size &&
	    (uint32_t)ss->ss_flags == u->sigalt_flags)
		return 0;
	if (mode != SS_DISABLE && ss->ss_size < 2048)
		return -ENOMEM;
	u->sigalt_sp = mode == SS_DISABLE ? 0 : (uint64_t)ss->ss_sp;
	u->sigalt_size = mode == SS_DISABLE ? 0 : ss->ss_size;
	u->sigalt_flags = (uint32_t)ss->ss_flags;
	return 0;
}

long signals_sigaltstack(uint64_t asked, uint64_t old, ucontext_t *uc)
{
	const struct upper_thread *u = &thread_self()->upper;
	stack_t before, ss;
	long rc = 0;
	memset(&before, 0, sizeof(before)); /* as the kernel does: it has padding */
	before.ss_sp = (void *)u->sigalt_sp;
	before.ss_size = u->sigalt_size;
	before.ss_flags = (!u->sigalt_size                     ? SS_DISABLE
			   : signals_on_altstack(u, UC_SP(uc)) ? SS_ONSTACK
							       : 0) |
			  (int)(u->sigalt_flags & SS_AUTODISARM);
	if (asked)
		rc = user_read(&ss, asked, sizeof(ss)) ? -EFAULT : signals_set_altstack(&ss, UC_SP(uc));
	return rc || !old ? rc : user_write(old, &before, sizeof(before));
}

/* The system calls about signals. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include "base/user.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"

static uint64_t by_descriptor; /* signalfd(2): while blocked they wait in the kernel */

static bool ignored(int sig)
{
	uint64_t h = lower.upper.sigactions[sig].handler;
	return h == (uint64_t)SIG_IGN || (h == (uint64_t)SIG_DFL && (IGNORED_BY_DEFAULT & BIT(sig)));
}

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
		if (ignored(sig))
			signal_discard(sig); /* sigaction(3p): what is pending and ignored from now on is gone */
		signals_install_one(sig);
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
	const struct thread *self = thread_self();
	return signal_arrived(self) & self->upper.sigmask;
}

/* signalfd(2) reads what waits in the kernel: signals that the program blocks and reads so are blocked there
 * too.  Others never are. */
void signals_sync_kernel(struct thread *self)
{
	uint64_t want = by_descriptor & self->upper.sigmask;
	if (want == self->kernel_mask || replaying())
		return;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&want, 0, 8, 0, 0);
	self->kernel_mask = want;
}

void signals_by_descriptor(uint64_t set)
{
	struct thread *self = thread_self();
	by_descriptor |= set & ~(SYNCHRONOUS | BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGNALS_REMINDER));
	signals_sync_kernel(self);
	signal_to_kernel(set);
}

uint64_t signals_read_by_descriptor(void)
{
	return by_descriptor;
}

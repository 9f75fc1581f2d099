#include "task/carrier.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include "arch/thread_pointer.h"
#include "arch/context.h"
#include "crossing/boundary.h"
#include "task/signals.h"
#include "task/baton.h"

enum { CARRIER_STACK = 256 << 10 };

static void raise_flag(uint32_t *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	raw_syscall(SYS_futex, (long)flag, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void await_flag(uint32_t *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		raw_syscall(SYS_futex, (long)flag, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

/* Runs on a stack of its own until the upper thread starts, and returns there when the upper thread has ended. */
static void *carry(void *arg)
{
	struct thread *self = arg;
	own_pointer_set((uint64_t)self);
	self->gate.lower_tls = thread_pointer();
	int rc = boundary_signal_stack(self);
	if (!rc)
		rc = boundary_dispatch_on();
	if (!rc && self->unshares)
		rc = (int)raw_syscall(SYS_unshare, (long)self->unshares, 0, 0, 0, 0, 0);
	self->carrier = rc ? rc : (int32_t)raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	raise_flag(&self->born);
	if (rc)
		return NULL;
	await_flag(&self->known);
	self->gate.lower_tls = thread_pointer(); /* live_threads.c: another carrier had this thread until now */
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&self->kernel_mask, 0, 8, 0, 0);
	if (recording() && baton_held()) /* the baton was kept for the thread while it got this carrier */
		thread_traps();
	else
		baton_take();
	gate_carry(&self->leave_sp, RDB_GATE_CODE + GATE_CODE_START, context_sp(&self->start));
	/* the upper thread has ended */
	signals_thread_gone(self);
	threads_lock();
	threads_remove(self, false);
	threads_unlock();
	baton_give();
	return NULL;
}

int carrier_start(struct thread *t)
{
	pthread_attr_t attr;
	pthread_t id;
	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, CARRIER_STACK);
	t->born = t->known = 0;
	sigset_t mask;
	lower_block_signals(&mask); /* until the carrier has its signal stack */
	int rc = -pthread_create(&id, &attr, carry, t);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		return rc;
	await_flag(&t->born);
	return t->carrier < 0 ? t->carrier : 0;
}

void carrier_begin(struct thread *t)
{
	raise_flag(&t->known);
}

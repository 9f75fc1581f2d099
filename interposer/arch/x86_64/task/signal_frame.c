#include <errno.h>
#include <signal.h>
#include <string.h>
#include "crossing/boundary.h"
#include "base/user.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"
#include "arch/registers.h"
#include "arch/x86_64/base/xstate.h"

/* signal(7), sigreturn(2): what the kernel puts on the stack for an x86-64 handler. */
struct signal_frame {
	uint64_t restorer;
	uint64_t uc_flags, uc_link;
	stack_t uc_stack;
	uint64_t gregs[23];
	uint64_t fpstate;
	uint64_t reserved[8];
	uint64_t sigmask;
	siginfo_t info;
};

bool signal_frame_push(int sig, const siginfo_t *info, ucontext_t *uc)
{
	struct upper_thread *u = &thread_self()->upper;
	struct upper_sigaction *sa = &lower.upper.sigactions[sig];
	uint64_t sp = UC_SP(uc) - 128;
	bool on_alt = signals_on_altstack(u, UC_SP(uc));
	if ((sa->flags & SA_ONSTACK) && u->sigalt_size && !(u->sigalt_flags & SS_DISABLE) && !on_alt) {
		sp = u->sigalt_sp + u->sigalt_size;
		on_alt = true;
	}
	const uint64_t top = sp;
	size_t fp_len = xstate_len(uc->uc_mcontext.fpregs);
	sp = (sp - fp_len) & ~63ul;
	uint64_t fp = sp;
	sp = ((sp - sizeof(struct signal_frame)) & ~15ul) - 8;
	/* arch/x86/kernel/signal.c, get_sigframe */
	if ((on_alt && !signals_in_altstack(u, sp)) || !user_writable(sp, top - sp))
		return false;
	memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_len);
	/* XSTATE_BV says which parts the processor considers in use, which differs from run to run.  XSAVE has written
	 * all parts, so all can be marked in use (Intel SDM vol. 1, 13.4.2). */
	if (fp_len > LEGACY)
		memcpy((void *)(fp + LEGACY), (const uint8_t *)fp + SW_BYTES + 8, 8);
	xstate_clear(uc->uc_mcontext.fpregs);
	struct signal_frame *f = (void *)sp;
	memset(f, 0, sizeof(*f));
	f->restorer = sa->restorer;
	f->uc_flags = 7; /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	f->uc_stack.ss_sp = (void *)u->sigalt_sp;
	f->uc_stack.ss_size = u->sigalt_size;
	f->uc_stack.ss_flags = (int)u->sigalt_flags;
	if (u->sigalt_flags & SS_AUTODISARM) { /* kernel/signal.c, signal_delivered */
		u->sigalt_sp = u->sigalt_size = 0;
		u->sigalt_flags = SS_DISABLE;
	}
	memcpy(f->gregs, uc->uc_mcontext.gregs, sizeof(f->gregs));
	f->gregs[REG_EFL] &= ~(EFLAGS_TF | EFLAGS_RF);
	/* The kernel leaves the thread's last fault in these, which may be one of ours (rdtsc). */
	bool faulted = (BIT(sig) & SYNCHRONOUS) && info->si_code > 0;
	if (!faulted)
		f->gregs[REG_TRAPNO] = f->gregs[REG_ERR] = 0;
	if (!faulted || f->gregs[REG_TRAPNO] != 14 /* page fault */)
		f->gregs[REG_CR2] = 0;
	f->fpstate = fp;
	f->sigmask = u->suspended ? u->suspended_mask : u->sigmask;
	f->gregs[REG_OLDMASK] = f->sigmask; /* arch/x86/kernel/signal_64.c: the program's, not the carrier's */
	u->suspended = 0;
	f->info = *info;
	u->sigmask |= sa->mask | (sa->flags & SA_NODEFER ? 0 : BIT(sig));
	UC_SP(uc) = sp;
	UC_PC(uc) = sa->handler;
	UC_REG(uc, RDI) = (uint64_t)sig;
	UC_REG(uc, RSI) = (uint64_t)&f->info;
	UC_REG(uc, RDX) = (uint64_t)&f->uc_flags;
	UC_REG(uc, RAX) = 0;
	UC_REG(uc, EFL) &= ~0x10400ul; /* DF, RF */
	if (sa->flags & SA_RESETHAND)
		sa->handler = (uint64_t)SIG_DFL;
	return true;
}

struct state {
	void *into;
	uint64_t saved;
};

static void put_state(void *arg)
{
	const struct state *s = arg;
	xstate_put(s->into, (const void *)s->saved);
}

/* arch/x86/kernel/signal_64.c, rt_sigreturn */
void signals_sigreturn(ucontext_t *uc)
{
	struct signal_frame f;
	const uint64_t tf = UC_REG(uc, EFL) & EFLAGS_TF;
	if (user_read(&f, UC_SP(uc) - 8, sizeof(f))) {
		signals_bad_frame(uc);
		return;
	}
	thread_self()->upper.sigmask = f.sigmask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
	signals_sync_kernel(thread_self());
	signals_set_altstack(&f.uc_stack, UC_SP(uc));                  /* its errors do not count */
	memcpy(uc->uc_mcontext.gregs, f.gregs, 17 * sizeof(uint64_t)); /* R8 .. RIP */
	UC_REG(uc, EFL) = (f.gregs[REG_EFL] & 0x240dd5) | 0x202 | tf;
	struct state state = {uc->uc_mcontext.fpregs, f.fpstate};
	if (f.fpstate && (!RDB_IS_UPPER(f.fpstate) || !guarded_call(put_state, &state))) {
		signals_bad_frame(uc);
		return;
	}
}

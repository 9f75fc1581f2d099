#include <errno.h>
#include <signal.h>
#include <string.h>
#include "crossing/boundary.h"
#include "base/user.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"
#include "base/xstate.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31) /* include/uapi/linux/signal.h */
#endif

/* signal(7), sigreturn(2): what the kernel puts on the stack of an x86-64 handler. */
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

static size_t xsave_len(const ucontext_t *uc)
{
	/* struct _fpx_sw_bytes at offset 464 of the FXSAVE area (asm/sigcontext.h) */
	const uint32_t *sw = (const uint32_t *)((const uint8_t *)uc->uc_mcontext.fpregs + 464);
	return sw[0] == 0x46505853 /* FP_XSTATE_MAGIC1 */ ? sw[1] : 512;
}

static bool on_alternate(const struct upper_thread *u, uint64_t sp)
{
	return sp > u->sigalt_sp && sp - u->sigalt_sp <= u->sigalt_size;
}

bool signal_frame_push(int sig, const siginfo_t *info, ucontext_t *uc)
{
	struct upper_thread *u = &thread_self()->upper;
	struct upper_sigaction *sa = &lower.upper.sigactions[sig];
	uint64_t sp = UC_REG(uc, RSP) - 128;
	bool on_alt = on_alternate(u, UC_REG(uc, RSP));
	if ((sa->flags & SA_ONSTACK) && u->sigalt_size && !(u->sigalt_flags & SS_DISABLE) && !on_alt) {
		sp = u->sigalt_sp + u->sigalt_size;
		on_alt = true;
	}
	const uint64_t top = sp;
	size_t fp_len = xsave_len(uc);
	sp = (sp - fp_len) & ~63ul;
	uint64_t fp = sp;
	sp = ((sp - sizeof(struct signal_frame)) & ~15ul) - 8;
	/* arch/x86/kernel/signal.c, get_sigframe */
	if ((on_alt && !on_alternate(u, sp)) || !user_writable(sp, top - sp))
		return false;
	memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_len);
	/* XSTATE_BV says which parts the processor thought in use, which differs from run to run; all parts
	 * are there (XSAVE writes them), so all may be called in use (Intel SDM vol. 1, 13.4.2) */
	if (fp_len > 512)
		memcpy((void *)(fp + 512), (const uint8_t *)fp + 464 + 8, 8);
	struct signal_frame *f = (void *)sp;
	memset(f, 0, sizeof(*f));
	f->restorer = sa->restorer;
	f->uc_flags = 7; /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	f->uc_stack.ss_sp = (void *)u->sigalt_sp;
	f->uc_stack.ss_size = u->sigalt_size;
	f->uc_stack.ss_flags = (int)u->sigalt_flags;
	memcpy(f->gregs, uc->uc_mcontext.gregs, sizeof(f->gregs));
	f->gregs[REG_EFL] &= ~(EFLAGS_TF | EFLAGS_RF);
	/* The kernel leaves in them what the thread's last fault was, and that may be one of ours (rdtsc). */
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
	UC_REG(uc, RSP) = sp;
	UC_REG(uc, RIP) = sa->handler;
	UC_REG(uc, RDI) = (uint64_t)sig;
	UC_REG(uc, RSI) = (uint64_t)&f->info;
	UC_REG(uc, RDX) = (uint64_t)&f->uc_flags;
	UC_REG(uc, RAX) = 0;
	UC_REG(uc, EFL) &= ~0x10400ul; /* DF, RF */
	if (sa->flags & SA_RESETHAND)
		sa->handler = (uint64_t)SIG_DFL;
	return true;
}

void signals_sigreturn(ucontext_t *uc)
{
	const struct signal_frame *f = (const void *)(UC_REG(uc, RSP) - 8);
	uint64_t tf = UC_REG(uc, EFL) & EFLAGS_TF;
	memcpy(uc->uc_mcontext.gregs, f->gregs, 17 * sizeof(uint64_t)); /* R8 .. RIP */
	UC_REG(uc, EFL) = (f->gregs[REG_EFL] & 0x240dd5) | 0x202 | tf;
	if (f->fpstate)
		xstate_put(uc->uc_mcontext.fpregs, (const void *)f->fpstate);
	thread_self()->upper.sigmask = f->sigmask & ~(BIT(SIGKILL) | BIT(SIGSTOP));
}

long signals_sigaltstack(uint64_t asked, uint64_t old, ucontext_t *uc)
{
	struct upper_thread *u = &thread_self()->upper;
	bool on_it = u->sigalt_size && UC_REG(uc, RSP) - u->sigalt_sp <= u->sigalt_size;
	stack_t before, ss;
	memset(&before, 0, sizeof(before)); /* as the kernel does: it has padding */
	before.ss_sp = (void *)u->sigalt_sp;
	before.ss_size = u->sigalt_size;
	before.ss_flags = (u->sigalt_size ? (on_it ? SS_ONSTACK : 0) : SS_DISABLE) |
			  (int)(u->sigalt_flags & SS_AUTODISARM);
	if (asked) {
		if (user_read(&ss, asked, sizeof(ss)))
			return -EFAULT;
		if (on_it)
			return -EPERM;
		const int mode = ss.ss_flags & ~(int)SS_AUTODISARM;
		if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
			return -EINVAL;
		/* kernel/signal.c, do_sigaltstack: what changes nothing may be too small */
		const bool same = (uint64_t)ss.ss_sp == u->sigalt_sp && ss.ss_size == u->sigalt_size &&
				  (uint32_t)ss.ss_flags == u->sigalt_flags;
		if (!same && mode == SS_DISABLE)
			ss.ss_sp = NULL, ss.ss_size = 0;
		else if (!same && ss.ss_size < 2048)
			return -ENOMEM;
		u->sigalt_sp = (uint64_t)ss.ss_sp;
		u->sigalt_size = ss.ss_size;
		u->sigalt_flags = (uint32_t)ss.ss_flags;
	}
	return old ? user_write(old, &before, sizeof(before)) : 0;
}

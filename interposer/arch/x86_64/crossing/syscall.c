#include <linux/audit.h>
#include <signal.h>
#include "arch/registers.h"
#include "crossing/gate_asm.h"

void uc_at_syscall(ucontext_t *uc, const siginfo_t *info)
{
	if (info->si_arch != AUDIT_ARCH_X86_64)
		rdb_fatal("a 32-bit system call (int $0x80), number %d: only 64-bit ones can be recorded",
			  info->si_syscall);
	UC_REG(uc, R11) &= ~EFLAGS_TF; /* R11 has the flags, with TF during a step */
}

void uc_forget_syscall(ucontext_t *uc)
{
	UC_REG(uc, RAX) = UC_REG(uc, RCX) = UC_REG(uc, R11) = 0;
}

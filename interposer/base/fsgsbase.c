#include <asm/prctl.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/context.h"
#include "base/fsgsbase.h"
#include "base/lower.h"

enum { READ_FS, READ_GS, WRITE_FS, WRITE_GS }; /* the reg field of their ModRM byte */

static bool emulating;

/* Until boundary_init() has its own. */
static void on_illegal(int sig, siginfo_t *info, void *ctx)
{
	if (fsgsbase_fault(ctx))
		return;
	if (RDB_IS_UPPER(info->si_addr))
		rdb_warn("no FSGSBASE instructions here, and they cannot be emulated: rdb-exec is at %p, among the "
			 "program's addresses (an emulator has put it there?)",
			 info->si_addr);
	else
		rdb_warn("this processor, or the virtual machine, lacks the instruction at %p, which rdb needs",
			 info->si_addr);
	_exit(125);
}

int fsgsbase_emulate(void)
{
	struct sigaction sa = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
	emulating = true;
	return sigaction(SIGILL, &sa, NULL) ? -errno : 0;
}

bool fsgsbase_fault(ucontext_t *uc)
{
	static const uint8_t order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	static const int calls[] = {ARCH_GET_FS, ARCH_GET_GS, ARCH_SET_FS, ARCH_SET_GS};
	const uint8_t *p = (const uint8_t *)UC_REG(uc, RIP);
	/* the program is told by AT_HWCAP2 that they are not there: its own use of them is its fault */
	if (!emulating || RDB_IS_UPPER(p))
		return false;
	/* Intel SDM vol. 2: F3 [REX] 0F AE /0 ... /3, register form.  Ours all have 64 bits: REX.W */
	if (p[0] != 0xf3 || (p[1] & 0xf8) != 0x48 || p[2] != 0x0f || p[3] != 0xae || p[4] < 0xc0)
		return false;
	unsigned what = p[4] >> 3 & 7;
	if (what > WRITE_GS)
		return false;
	uint64_t *reg = (uint64_t *)&uc->uc_mcontext.gregs[order[(p[4] & 7u) | (p[1] & 1u) << 3]];
	long value = what >= WRITE_FS ? (long)*reg : (long)reg;
	if (raw_syscall(SYS_arch_prctl, calls[what], value, 0, 0, 0, 0))
		return false;
	UC_REG(uc, RIP) += 5;
	return true;
}

/* Where the kernel has not enabled RDFSBASE, WRFSBASE and their GS forms (before Linux 5.9, or nofsgsbase), they fault,
 * and arch_prctl(2) does their work.  Correct, but each costs a signal. */
#include "arch/thread_pointer.h"
#include <asm/prctl.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/registers.h"
#include "arch/x86_64/base/probes.h"
#include "base/lower.h"

enum { READ_FS, READ_GS, WRITE_FS, WRITE_GS }; /* the reg field of their ModRM byte */

static bool emulating;

/* In use until boundary_init() installs its own handler. */
static void on_illegal(int sig, siginfo_t *info, void *ctx)
{
	if (thread_pointer_fault(ctx))
		return;
	if (RDB_IS_UPPER(info->si_addr))
		rdb_warn("this processor has no FSGSBASE instructions, and rdb cannot emulate them: rdb-exec is at "
			 "%p, in the address range of the program (does it run in an emulator?)",
			 info->si_addr);
	else
		rdb_warn("this processor, or the virtual machine, lacks the instruction at %p, which rdb needs",
			 info->si_addr);
	_exit(125);
}

int thread_pointer_prepare(void)
{
	struct sigaction sa = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
	if (fsgsbase_there())
		return 0;
	emulating = true;
	return sigaction(SIGILL, &sa, NULL) ? -errno : 0;
}

bool thread_pointer_fault(ucontext_t *uc)
{
	static const int calls[] = {ARCH_GET_FS, ARCH_GET_GS, ARCH_SET_FS, ARCH_SET_GS};
	const uint8_t *p = (const uint8_t *)UC_PC(uc);
	/* AT_HWCAP2 tells the program that the instructions are missing: its own use is an ordinary fault */
	if (!emulating || RDB_IS_UPPER(p))
		return false;
	/* Intel SDM vol. 2: F3 [REX] 0F AE /0 ... /3, register form.  All of ours are 64-bit: REX.W */
	if (p[0] != 0xf3 || (p[1] & 0xf8) != 0x48 || p[2] != 0x0f || p[3] != 0xae || p[4] < 0xc0)
		return false;
	unsigned what = p[4] >> 3 & 7;
	if (what > WRITE_GS)
		return false;
	uint64_t *reg = uc_general(uc, (p[4] & 7u) | (p[1] & 1u) << 3);
	long value = what >= WRITE_FS ? (long)*reg : (long)reg;
	if (raw_syscall(SYS_arch_prctl, calls[what], value, 0, 0, 0, 0))
		return false;
	UC_PC(uc) += 5;
	return true;
}

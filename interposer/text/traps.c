#include "text/traps.h"
#include <asm/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* -ENODEV: this processor cannot. */
static long enable_cpuid(bool enabled)
{
	return raw_syscall(SYS_arch_prctl, ARCH_SET_CPUID, enabled, 0, 0, 0, 0);
}

void traps_begin(void)
{
	lower.upper.traps = enable_cpuid(true) ? 0 : MAY_TRAP_CPUID;
}

void traps_tsc(void)
{
	if (passing() || tsc_traps())
		return;
	tsc_must_trap = true;
	lower.upper.traps |= TRAPS_TSC;
	if (lower.started)
		traps_set(true);
}

void traps_cpuid(void)
{
	if (passing() || lower.upper.traps & TRAPS_CPUID || !(lower.upper.traps & MAY_TRAP_CPUID))
		return;
	lower.upper.traps |= TRAPS_CPUID;
	if (lower.started)
		traps_set(true);
}

unsigned traps_now(void)
{
	return (tsc_traps() ? TRAPS_TSC : 0) | (lower.upper.traps & TRAPS_CPUID);
}

void traps_set(bool on)
{
	const unsigned which = traps_now();
	if (which & TRAPS_TSC)
		prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE);
	if (which & TRAPS_CPUID && enable_cpuid(!on) && recording()) /* restarted on another machine */
		lower.upper.traps &= ~(uint64_t)(TRAPS_CPUID | MAY_TRAP_CPUID);
}

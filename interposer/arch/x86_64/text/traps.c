#include "text/traps.h"
#include <asm/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* -ENODEV: this processor cannot make CPUID fault. */
static long enable_cpuid(bool enabled)
{
	return raw_syscall(SYS_arch_prctl, ARCH_SET_CPUID, enabled, 0, 0, 0, 0);
}

void traps_begin(void)
{
	lower.upper.traps = enable_cpuid(true) ? 0 : MAY_TRAP_IDENTITY;
}

void traps_counter(void)
{
	if (passing() || counter_traps())
		return;
	counter_must_trap = true;
	lower.upper.traps |= TRAPS_COUNTER;
	if (lower.started)
		traps_set(true);
}

void traps_identity(void)
{
	if (passing() || lower.upper.traps & TRAPS_IDENTITY || !(lower.upper.traps & MAY_TRAP_IDENTITY))
		return;
	lower.upper.traps |= TRAPS_IDENTITY;
	if (lower.started)
		traps_set(true);
}

unsigned traps_now(void)
{
	return (counter_traps() ? TRAPS_COUNTER : 0) | (lower.upper.traps & TRAPS_IDENTITY);
}

void traps_set(bool on)
{
	const unsigned which = traps_now();
	if (which & TRAPS_COUNTER)
		prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE);
	if (which & TRAPS_IDENTITY && enable_cpuid(!on) && recording()) /* after a restart on another machine */
		lower.upper.traps &= ~(uint32_t)(TRAPS_IDENTITY | MAY_TRAP_IDENTITY);
}

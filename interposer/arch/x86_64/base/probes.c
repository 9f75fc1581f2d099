#include "arch/x86_64/base/probes.h"
#include <asm/prctl.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/probes.h"

bool fsgsbase_there(void)
{
	return getauxval(AT_HWCAP2) & 2; /* HWCAP2_FSGSBASE */
}

static bool cpuid_faulting(void)
{
	return syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1) == 0;
}

static bool tsc_faulting(void)
{
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0 && prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0;
}

const struct arch_probe arch_probes[] = {
	{"fsgsbase", fsgsbase_there},
	{"cpuid_faulting", cpuid_faulting},
	{"tsc_faulting", tsc_faulting},
	{NULL, NULL},
};

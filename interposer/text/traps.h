/* Instructions that trap wherever the program has them: rdtsc (prctl(2), PR_SET_TSC) and CPUID (arch_prctl(2), ARCH_SET_CPUID).
 * Which do is in lower.upper.traps, the same in a replay; whether CPUID may is what the recording machine can do. */
#ifndef RDB_TRAPS_H
#define RDB_TRAPS_H
#include "base/lower.h"
#include "text/tsc_sites.h"

enum { TRAPS_TSC = 1, TRAPS_CPUID = 2, MAY_TRAP_CPUID = 4 };

/* The program is about to be recorded from its start on. */
void traps_begin(void);
/* There may be text that nobody looks at. */
void traps_tsc(void);
void traps_cpuid(void);
/* They are each kernel thread's own: in force, or not, in this one. */
void traps_set(bool on);
/* Those of them that are to be in force. */
unsigned traps_now(void);
/* Does rdtsc trap in the program?  Not where all of them are patched (tsc_sites.h). */
static inline bool tsc_traps(void)
{
	return lower.upper.traps & TRAPS_TSC && (!recording() || tsc_must_trap || !tsc_sites_any());
}

#endif

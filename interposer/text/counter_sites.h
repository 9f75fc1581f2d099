/* Reads of the processor's counter without a trap: while recording, the instruction is replaced by a jump to a stub.
 * The stub goes through a gate to one small record, or to the general way on a context as in hot_sites.h; if a signal
 * is due as well, to a trap.  If an instruction cannot be replaced by a jump, it is replaced by one that traps: that
 * one is slow, but the counter need not trap everywhere.
 *
 * Only the recording process has these patches: images and hashes contain the program's own bytes, so counter reads in
 * a replay trap.
 */
#pragma once
#include "base/lower.h"
#include "space/patches.h"

/* Patch all sites found; remove all patches. */
void counter_sites_put(void);
void counter_sites_lift(void);
/* In a child that writes an image: makes memory what a replay has. */
void counter_sites_settle(void);
static inline bool counter_sites_any(void)
{
	return counter_sites_count;
}

/* If uc is inside the jump of a patch, moves it to the copy in the stub.  False: it is not. */
bool counter_stub_enter(ucontext_t *uc);
/* Moves uc from a stub whose event is over back to the program. */
void counter_stub_leave(ucontext_t *uc);

/* Target of the stubs. */
void counter_gate(void);

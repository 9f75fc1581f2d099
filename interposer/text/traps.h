/* Instructions that trap everywhere in the program: those that read the processor's counter (prctl(2), PR_SET_TSC) and
 * those that identify the processor. lower.upper.traps says which; a replay has the same.  Whether the latter may trap
 * depends on the recording machine. */
#pragma once
#include "base/lower.h"
#include "text/counter_sites.h"

/* Call when the program is about to be recorded from its start. */
void traps_begin(void);
/* Call when there may be text that is not examined: the counter, or the identity, must trap. */
void traps_counter(void);
void traps_identity(void);
/* Puts the traps into force, or not, for the calling kernel thread: each has its own setting. */
void traps_set(bool on);
/* The traps that should be in force. */
unsigned traps_now(void);

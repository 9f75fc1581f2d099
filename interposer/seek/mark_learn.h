/* Tells a mark from arrivals that a trampoline has taken for it.
 *
 * A trampoline compares registers and the few words that the recording saw change.  A computation may come back to the
 * same state again and again, except for a counter further up the stack that changes too seldom to be seen.  Each
 * arrival then costs a signal.  The mark holds the stack: after a few such arrivals the word of it that differed most
 * often is compared as well.
 */
#pragma once
#include "marks/mark.h"

/* The search for a new mark begins. */
void mark_learn_begin(const struct mark *m);
/* The program stands at m's place, but this is not the arrival.  True: mark_learned() now is a mark of the same arrival
 * that compares more. */
bool mark_learn(const struct mark *m);
const struct mark *mark_learned(void);

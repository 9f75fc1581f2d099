/* What tells a mark from the arrivals that a trampoline has taken for it.
 *
 * A trampoline compares registers and a few words: those that the recording saw
 * change.  A computation whose state comes round again and again, but for a
 * counter further up the stack that changes too seldom to be seen, agrees in
 * all of them each time, and each time costs a signal.  The mark holds the
 * stack: after a few such arrivals the word of it that differed most often is
 * compared as well.
 */
#ifndef RDB_MARK_LEARN_H
#define RDB_MARK_LEARN_H
#include "marks/mark.h"

/* A new mark is looked for. */
void mark_learn_begin(const struct mark *m);
/* The program stands at m's place, and it is not the arrival.  True: it is time
 * to compare more; then what to look for is mark_learned(), a mark of the same
 * arrival. */
bool mark_learn(const struct mark *m);
const struct mark *mark_learned(void);

#endif

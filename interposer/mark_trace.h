/* Looking for a good place for a mark (mark.h) by carrying out the program's next instructions. */
#ifndef RDB_MARK_TRACE_H
#define RDB_MARK_TRACE_H
#include "mark.h"

/* Moves uc, fills in varies, heat and the words' addresses.  Returns as mark_take. */
int mark_trace(ucontext_t *uc, struct mark *m, unsigned instructions);

#endif

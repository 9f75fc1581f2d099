/* Looking for a good place for a mark (mark.h) by carrying out the program's next instructions. */
#pragma once
#include "marks/mark.h"

/* The arguments of the mark_take functions. */
struct mark_wish {
	unsigned instructions;
	const struct spin *within, *after; /* or NULL */
	bool fresh;
};

/* Moves uc, fills in varies, heat, which vectors, and the words' addresses.  Result: mark_take. */
int mark_trace(ucontext_t *uc, struct mark *m, const struct mark_wish *wish);

/* Looking for a good place for a mark (mark.h) by carrying out the program's next instructions. */
#ifndef RDB_MARK_TRACE_H
#define RDB_MARK_TRACE_H
#include <string.h>
#include "marks/mark.h"

enum { MARK_XMM_AT = 160 }; /* in the FXSAVE area: Intel SDM vol. 1, 10.5.1 */

/* The low half of xmm register n. */
static inline uint64_t mark_xmm(const ucontext_t *uc, unsigned n)
{
	uint64_t v = 0;

	if (uc->uc_mcontext.fpregs)
		memcpy(&v, (const char *)uc->uc_mcontext.fpregs + MARK_XMM_AT + 16 * (size_t)n, 8);
	return v;
}

/* As the arguments of mark_take and its kin. */
struct mark_wish {
	unsigned instructions;
	const struct spin *within, *after; /* or NULL */
	bool fresh;
};

/* Moves uc, fills in varies, heat, which vectors, and the words' addresses.  Result: mark_take. */
int mark_trace(ucontext_t *uc, struct mark *m, const struct mark_wish *wish);

#endif

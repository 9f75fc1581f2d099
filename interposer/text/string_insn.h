/* movs, stos, lods, cmps and scas, with or without a repeat prefix, on a saved context. */
#ifndef RDB_STRING_INSN_H
#define RDB_STRING_INSN_H
#include <ucontext.h>
#include "text/decode.h"

/* Carries it out to its end; uc then stands at the next instruction.  -EAGAIN: it would fault on the way,
 * where uc now stands, as the processor would.  -ENOTSUP: not one of these. */
int string_finish(ucontext_t *uc, const struct insn *in);

#endif

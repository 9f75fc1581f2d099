/* Instructions that fill, copy or search memory, of any length. */
#pragma once
#include <ucontext.h>
#include "arch/insn.h"

/* May it do more than one element? */
bool string_repeats(const struct insn *in);
/* The bytes that it will write; len 0: none.  False: unknown. */
bool string_stores(const struct insn *in, const ucontext_t *uc, uint64_t *at, uint64_t *len);
/* Carries it out to its end; uc is then at the next instruction. -EAGAIN: it would fault half-way; uc is then in the
 * state in which the processor would fault. -ENOTSUP: not a string instruction. */
int string_finish(ucontext_t *uc, const struct insn *in);

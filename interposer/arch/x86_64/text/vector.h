/* SSE, AVX, AVX2, FMA and BMI instructions on a saved context: the processor executes a copy of the
 * instruction here, with the program's vector registers, flags and general registers loaded.
 */
#pragma once
#include "arch/insn.h"
#include "text/emulate.h"

/* True: done. addr: the memory operand. */
bool vector_emulate(ucontext_t *uc, const struct insn *in, uint64_t addr, struct emulated *out);

/* Is it a read-modify-write of memory that must stay one access: a lock prefix, or xchg? */
bool vector_locked(const struct insn *in);

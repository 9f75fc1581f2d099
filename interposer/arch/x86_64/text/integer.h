/* Integer instructions on a saved context (text/operands.h). False: nothing was done; the processor must execute
 * it. */
#pragma once
#include "arch/x86_64/text/operands.h"

/* op of the group add or adc sbb and sub xor cmp: a = a op b */
bool integer_arithmetic(struct work *w, unsigned op, unsigned size, bool to_rm, uint64_t b, bool b_is_rm);
/* op: ALU_INC, ALU_DEC, ALU_NEG, ALU_NOT */
bool integer_unary(struct work *w, unsigned op, unsigned size);
/* The shift or rotation in ModRM. */
bool integer_shift(struct work *w, unsigned size);
bool integer_multiply(struct work *w, unsigned size, uint64_t a, uint64_t b);
/* f6, f7: test, not, neg, mul, imul, div, idiv */
bool integer_group3(struct work *w, unsigned size);

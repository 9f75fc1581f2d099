/* Integer operations with the processor's own flags. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define ALU_FLAGS 0x8d5ull /* OF SF ZF AF PF CF */

enum { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP, ALU_TEST };
enum { ALU_INC, ALU_DEC, ALU_NEG, ALU_NOT };

static inline uint64_t alu_mask(unsigned size)
{
	return size == 8 ? UINT64_MAX : (1ull << (8 * size)) - 1;
}

/* size: 1, 2, 4 or 8 bytes; *flags: flags before, then after. */
uint64_t alu_binary(unsigned op, unsigned size, uint64_t a, uint64_t b, uint64_t *flags);
uint64_t alu_unary(unsigned op, unsigned size, uint64_t a, uint64_t *flags);
/* A shift or rotate, in the program's form, on which OF may depend (shift_forms.S).
 * op: rol ror rcl rcr shl shr shl sar, as numbered in ModRM. */
struct alu_shift {
	unsigned op, size;
	enum { ALU_BY_COUNT, ALU_BY_ONE, ALU_BY_CL } by;
	bool memory; /* the operand is in memory */
	uint8_t count;
};
uint64_t alu_shift(const struct alu_shift *s, uint64_t a, uint64_t *flags);
uint64_t alu_imul(unsigned size, uint64_t a, uint64_t b, uint64_t *flags);
/* size: 4 or 8 bytes.  Returns the low half; the high half in *high. */
uint64_t alu_mul_wide(bool sign, unsigned size, uint64_t a, uint64_t b, uint64_t *high, uint64_t *flags);
/* Size 4 or 8 bytes. *high, *low: dividend, then remainder and quotient.  False: the division would fault, or might. */
bool alu_divide(bool sign, unsigned size, uint64_t *low, uint64_t *high, uint64_t b, uint64_t *flags);
/* condition code 0..15 of jcc, setcc, cmovcc */
bool alu_condition(unsigned cc, uint64_t flags);

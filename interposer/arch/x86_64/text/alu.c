#include "arch/x86_64/text/alu.h"

/* pushf and popf below must not write into this function's red zone (ABI, 3.2.2) */
#define BEFORE "lea -128(%%rsp), %%rsp\n\tpushq %[f]\n\tpopfq\n\t"
#define AFTER "\n\tpushfq\n\tpopq %[f]\n\tlea 128(%%rsp), %%rsp"

#define TWO(insn, m) \
	__asm__ volatile(BEFORE insn " %" m "[b], %" m "[a]" AFTER \
			 : [a] "+q"(a), [f] "+r"(f) \
			 : [b] "q"(b) \
			 : "cc", "memory")
#define ONE(insn, m) __asm__ volatile(BEFORE insn " %" m "[a]" AFTER : [a] "+q"(a), [f] "+r"(f) : : "cc", "memory")
#define SIZES(form, insn) \
	do { \
		if (size == 8) \
			form(insn "q", "q"); \
		else if (size == 4) \
			form(insn "l", "k"); \
		else if (size == 2) \
			form(insn "w", "w"); \
		else \
			form(insn "b", "b"); \
	} while (0)

uint64_t alu_binary(unsigned op, unsigned size, uint64_t a, uint64_t b, uint64_t *flags)
{
	uint64_t f = *flags & ALU_FLAGS;

	switch (op) {
	case ALU_ADD: SIZES(TWO, "add"); break;
	case ALU_OR: SIZES(TWO, "or"); break;
	case ALU_ADC: SIZES(TWO, "adc"); break;
	case ALU_SBB: SIZES(TWO, "sbb"); break;
	case ALU_AND: SIZES(TWO, "and"); break;
	case ALU_SUB: SIZES(TWO, "sub"); break;
	case ALU_XOR: SIZES(TWO, "xor"); break;
	case ALU_CMP: SIZES(TWO, "cmp"); break;
	case ALU_TEST: SIZES(TWO, "test"); break;
	}
	*flags = f & ALU_FLAGS;
	return a & alu_mask(size);
}

uint64_t alu_unary(unsigned op, unsigned size, uint64_t a, uint64_t *flags)
{
	uint64_t f = *flags & ALU_FLAGS;

	switch (op) {
	case ALU_INC: SIZES(ONE, "inc"); break;
	case ALU_DEC: SIZES(ONE, "dec"); break;
	case ALU_NEG: SIZES(ONE, "neg"); break;
	case ALU_NOT: SIZES(ONE, "not"); break;
	}
	*flags = f & ALU_FLAGS;
	return a & alu_mask(size);
}

/* shift_forms.S: of a register, of memory */
typedef uint64_t shift_form;
extern const shift_form shift_by_count[2][8][4][64] __attribute__((visibility("hidden")));
extern const shift_form shift_by_one[2][8][4] __attribute__((visibility("hidden")));
extern const shift_form shift_by_cl[2][8][4] __attribute__((visibility("hidden")));

uint64_t alu_shift(const struct alu_shift *s, uint64_t a, uint64_t *flags)
{
	const unsigned op = s->op == 6 ? 4 : s->op, size = (unsigned)__builtin_ctz(s->size);
	const shift_form *form = s->by == ALU_BY_CL    ? &shift_by_cl[s->memory][op][size]
				 : s->by == ALU_BY_ONE ? &shift_by_one[s->memory][op][size]
						       : &shift_by_count[s->memory][op][size][s->count & 63];
	uint64_t f = *flags & ALU_FLAGS, memory = a;

	__asm__ volatile(BEFORE "call *%[form]" AFTER
			 : "+a"(a), [f] "+r"(f)
			 : [form] "r"(form), "d"(&memory), "c"(s->count)
			 : "cc", "memory");
	*flags = f & ALU_FLAGS;
	return (s->memory ? memory : a) & alu_mask(s->size);
}

uint64_t alu_imul(unsigned size, uint64_t a, uint64_t b, uint64_t *flags)
{
	uint64_t f = *flags & ALU_FLAGS;

	if (size == 8)
		TWO("imulq", "q");
	else if (size == 4)
		TWO("imull", "k");
	else
		TWO("imulw", "w");
	*flags = f & ALU_FLAGS;
	return a & alu_mask(size);
}

#define WIDE(insn, m) \
	__asm__ volatile(BEFORE insn " %" m "[b]" AFTER : "+a"(a), "=d"(d), [f] "+r"(f) : [b] "r"(b) : "cc", "memory")

uint64_t alu_mul_wide(bool sign, unsigned size, uint64_t a, uint64_t b, uint64_t *high, uint64_t *flags)
{
	uint64_t f = *flags & ALU_FLAGS, d = 0;

	if (sign && size == 8)
		WIDE("imulq", "q");
	else if (sign)
		WIDE("imull", "k");
	else if (size == 8)
		WIDE("mulq", "q");
	else
		WIDE("mull", "k");
	*flags = f & ALU_FLAGS;
	*high = d & alu_mask(size);
	return a & alu_mask(size);
}

/* True in the common cases: an unsigned quotient that fits, a sign-extended signed dividend. */
static bool divides(bool sign, unsigned size, uint64_t low, uint64_t high, uint64_t b)
{
	uint64_t top = 1ull << (8 * size - 1), mask = alu_mask(size);

	if (!sign)
		return high < b;
	return b && high == (low & top ? mask : 0) && !(low == top && b == mask);
}

#define DIVIDE(insn, m) \
	__asm__ volatile(BEFORE insn " %" m "[b]" AFTER : "+a"(a), "+d"(d), [f] "+r"(f) : [b] "r"(b) : "cc", "memory")

bool alu_divide(bool sign, unsigned size, uint64_t *low, uint64_t *high, uint64_t b, uint64_t *flags)
{
	uint64_t f = *flags & ALU_FLAGS, a = *low, d = *high;

	if (!divides(sign, size, a, d, b))
		return false;
	if (sign && size == 8)
		DIVIDE("idivq", "q");
	else if (sign)
		DIVIDE("idivl", "k");
	else if (size == 8)
		DIVIDE("divq", "q");
	else
		DIVIDE("divl", "k");
	*flags = f & ALU_FLAGS;
	*low = a & alu_mask(size);
	*high = d & alu_mask(size);
	return true;
}

bool alu_condition(unsigned cc, uint64_t flags)
{
	bool cf = flags & 1, pf = flags & 4, zf = flags & 0x40, sf = flags & 0x80, of = flags & 0x800;
	bool yes = false;

	switch (cc >> 1) {
	case 0: yes = of; break;
	case 1: yes = cf; break;
	case 2: yes = zf; break;
	case 3: yes = cf || zf; break;
	case 4: yes = sf; break;
	case 5: yes = pf; break;
	case 6: yes = sf != of; break;
	case 7: yes = zf || sf != of; break;
	}
	return yes != (cc & 1);
}

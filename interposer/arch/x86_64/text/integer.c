#include "arch/x86_64/text/integer.h"

bool integer_arithmetic(struct work *w, unsigned op, unsigned size, bool to_rm, uint64_t b, bool b_is_rm)
{
	uint64_t a, f = flags(w), r;

	if (b_is_rm) { /* reg = reg op rm */
		if (!rm_read(w, size, &b))
			return false;
		a = reg_read(w, w->in->reg, size);
	} else if (to_rm) {
		if (!rm_read(w, size, &a))
			return false;
		if (op != ALU_CMP && !rm_can_write(w, size))
			return false;
	} else { /* accumulator */
		if (w->only_look)
			return false;
		a = reg_read(w, 0, size);
	}
	r = alu_binary(op, size, a, b, &f);
	if (op != ALU_CMP) {
		if (b_is_rm)
			reg_write(w, w->in->reg, size, r);
		else if (to_rm)
			rm_write(w, size, r);
		else
			reg_write(w, 0, size, r);
	}
	set_flags(w, f);
	return true;
}

bool integer_unary(struct work *w, unsigned op, unsigned size)
{
	uint64_t a, f = flags(w);

	if (!rm_read(w, size, &a) || !rm_can_write(w, size))
		return false;
	rm_write(w, size, alu_unary(op, size, a, &f));
	if (op != ALU_NOT)
		set_flags(w, f);
	return true;
}

bool integer_shift(struct work *w, unsigned size)
{
	struct alu_shift s = {.op = w->in->reg & 7, .size = size, .memory = w->in->memory};
	uint64_t a, f = flags(w);

	if (!rm_read(w, size, &a) || !rm_can_write(w, size))
		return false;
	s.by = w->in->op < 0xd0 ? ALU_BY_COUNT : w->in->op < 0xd2 ? ALU_BY_ONE : ALU_BY_CL;
	s.count = (uint8_t)(s.by == ALU_BY_CL ? reg_read(w, 1, 8) : (uint64_t)w->in->imm);
	a = alu_shift(&s, a, &f);
	rm_write(w, size, a);
	set_flags(w, f);
	return true;
}

bool integer_multiply(struct work *w, unsigned size, uint64_t a, uint64_t b)
{
	uint64_t f = flags(w);

	reg_write(w, w->in->reg, size, alu_imul(size, a, b, &f));
	set_flags(w, f);
	return true;
}

bool integer_group3(struct work *w, unsigned size)
{
	uint64_t a, b, hi, f = flags(w);

	switch (w->in->reg & 7) {
	case 0:
	case 1:
		if (!rm_read(w, size, &a))
			return false;
		alu_binary(ALU_TEST, size, a, (uint64_t)w->in->imm, &f);
		set_flags(w, f);
		return true;
	case 2: return integer_unary(w, ALU_NOT, size);
	case 3: return integer_unary(w, ALU_NEG, size);
	case 4:
	case 5:
		if (size < 4 || !rm_read(w, size, &a))
			return false;
		a = alu_mul_wide((w->in->reg & 7) == 5, size, reg_read(w, 0, size), a, &hi, &f);
		reg_write(w, 0, size, a);
		reg_write(w, 2, size, hi);
		set_flags(w, f);
		return true;
	}
	if (size < 4 || !rm_read(w, size, &b))
		return false;
	a = reg_read(w, 0, size);
	hi = reg_read(w, 2, size);
	if (!alu_divide((w->in->reg & 7) == 7, size, &a, &hi, b, &f))
		return false;
	reg_write(w, 0, size, a);
	reg_write(w, 2, size, hi);
	set_flags(w, f);
	return true;
}

#include "text/emulate.h"
#include <string.h>
#include "arch/registers.h"
#include "text/registers.h"
#include "space/upper_memory.h"
#include "interface/layout.h"
#include "arch/x86_64/text/alu.h"
#include "arch/insn.h"
#include "text/fetch.h"
#include "arch/x86_64/text/integer.h"
#include "arch/x86_64/text/operands.h"
#include "arch/x86_64/text/vector.h"

void (*emulate_before_store)(uint64_t addr, uint64_t len);
struct emulate_counted emulate_counted;

static bool push(struct work *w, unsigned size, uint64_t v)
{
	uint64_t sp = *reg_at(w, 4) - size;

	if (!can_store(w, sp, size))
		return false;
	store(sp, size, v);
	*reg_at(w, 4) = sp;
	return true;
}

static bool peek(struct work *w, unsigned size, uint64_t *v)
{
	return load(w, *reg_at(w, 4), size, v);
}

static enum emulation go(struct work *w, uint64_t target)
{
	w->g[REG_RIP] = (greg_t)target;
	return EMU_DONE;
}

static enum emulation done(struct work *w, bool ok)
{
	if (!ok)
		return EMU_PLAIN;
	w->g[REG_RIP] += w->in->len;
	return EMU_DONE;
}

/* A jump to a known target; the caller has checked its other effects. */
static enum emulation jump(struct work *w, uint64_t target, bool call)
{
	uint64_t next = uc_pc(w->uc) + w->in->len;

	if (!RDB_IS_UPPER(target))
		return text_thread->in_gate(target) ? EMU_GATE : EMU_OPAQUE;
	if (w->only_look || (call && !push(w, 8, next)))
		return EMU_OPAQUE;
	return go(w, target);
}

static enum emulation conditional(struct work *w, bool taken)
{
	uint64_t next = uc_pc(w->uc) + w->in->len;

	return w->only_look ? EMU_OPAQUE : go(w, taken ? next + (uint64_t)w->in->imm : next);
}

static enum emulation ret(struct work *w, uint64_t extra)
{
	uint64_t target, sp = *reg_at(w, 4);

	if (upper_readable(sp, 8)) { /* read even when only looking: does it return to the lower half? */
		memcpy(&target, (const void *)sp, 8);
		if (!RDB_IS_UPPER(target))
			return text_thread->in_gate(target) ? EMU_GATE : EMU_OPAQUE;
	}
	if (!peek(w, 8, &target))
		return EMU_OPAQUE;
	*reg_at(w, 4) = sp + 8 + extra;
	return go(w, target);
}

/* ff: inc, dec, call, jmp, push */
static enum emulation group5(struct work *w, unsigned size)
{
	uint64_t v;

	switch (w->in->reg & 7) {
	case 0: return done(w, integer_unary(w, ALU_INC, size));
	case 1: return done(w, integer_unary(w, ALU_DEC, size));
	case 2:
	case 4:
		/* read even when only looking: the target decides the result */
		if (!w->in->memory)
			v = reg_read(w, w->in->rm, 8);
		else if (upper_readable(w->addr, 8))
			memcpy(&v, (const void *)w->addr, 8);
		else
			return EMU_OPAQUE;
		if (w->in->memory)
			touches(w, w->addr, 8, false);
		return jump(w, v, (w->in->reg & 7) == 2);
	case 6:
		if (w->in->opsize || !rm_read(w, 8, &v))
			return EMU_PLAIN;
		return done(w, push(w, 8, v));
	}
	return w->in->jumps ? EMU_OPAQUE : EMU_PLAIN;
}

static bool move_to_rm(struct work *w, unsigned size, uint64_t v)
{
	if (!rm_can_write(w, size))
		return false;
	rm_write(w, size, v);
	return true;
}

static bool move_to_reg(struct work *w, unsigned size, unsigned from, bool sign)
{
	uint64_t v;

	if (!rm_read(w, from, &v))
		return false;
	if (sign)
		v = (uint64_t)((int64_t)(v << (64 - 8 * from)) >> (64 - 8 * from));
	reg_write(w, w->in->reg, size, v);
	return true;
}

static bool pushf(struct work *w)
{
	return push(w, 8, (flags(w) & ~(uint64_t)(EFLAGS_TF | EFLAGS_RF)));
}

static enum emulation one_byte(struct work *w)
{
	const struct insn *in = w->in;
	uint8_t op = in->op;
	unsigned size = op & 1 ? decode_size(in) : 1; /* for the opcodes that come in pairs */
	unsigned big = decode_size(in);
	unsigned word = in->opsize ? 2 : 8; /* of push and pop */
	uint64_t v, u, f;

	switch (op) {
	case 0x00 ... 0x3f:
		switch (op & 7) {
		case 0:
		case 1: return done(w, integer_arithmetic(w, op >> 3, size, true, reg_read(w, in->reg, size), false));
		case 2:
		case 3: return done(w, integer_arithmetic(w, op >> 3, size, false, 0, true));
		case 4:
		case 5: return done(w, integer_arithmetic(w, op >> 3, size, false, (uint64_t)in->imm, false));
		}
		return EMU_OPAQUE;
	case 0x50 ... 0x57: v = *reg_at(w, (op & 7) | (in->rex & 1) << 3); return done(w, push(w, word, v));
	case 0x58 ... 0x5f:
		if (!peek(w, word, &v))
			return EMU_PLAIN;
		*reg_at(w, 4) += word;
		reg_write(w, (op & 7) | (in->rex & 1) << 3, word, v);
		return done(w, true);
	case 0x63: return done(w, move_to_reg(w, big, big < 4 ? big : 4, true));
	case 0x68:
	case 0x6a: return done(w, push(w, word, (uint64_t)in->imm));
	case 0x69:
	case 0x6b: return done(w, rm_read(w, big, &v) && integer_multiply(w, big, v, (uint64_t)in->imm));
	case 0x70 ... 0x7f: return conditional(w, alu_condition(op & 15, flags(w)));
	case 0x80:
	case 0x81:
	case 0x83: return done(w, integer_arithmetic(w, in->reg & 7, size, true, (uint64_t)in->imm, false));
	case 0x84:
	case 0x85:
		if (!rm_read(w, size, &v))
			return EMU_PLAIN;
		f = flags(w);
		alu_binary(ALU_TEST, size, v, reg_read(w, in->reg, size), &f);
		set_flags(w, f);
		return done(w, true);
	case 0x86:
	case 0x87:
		if (w->only_look) /* with memory: vector_locked() */
			return EMU_PLAIN;
		v = reg_read(w, in->rm, size);
		u = reg_read(w, in->reg, size);
		reg_write(w, in->reg, size, v);
		reg_write(w, in->rm, size, u);
		return done(w, true);
	case 0x88:
	case 0x89: return done(w, move_to_rm(w, size, reg_read(w, in->reg, size)));
	case 0x8a:
	case 0x8b: return done(w, move_to_reg(w, size, size, false));
	case 0x8d:
		if (w->only_look || !in->memory)
			return EMU_PLAIN;
		if (in->segment) /* a segment base would not be added */
			return EMU_PLAIN;
		reg_write(w, in->reg, big, w->addr);
		return done(w, true);
	case 0x90: return in->rex & 1 ? EMU_PLAIN : done(w, !w->only_look);
	case 0x98:
		if (w->only_look)
			return EMU_PLAIN;
		v = reg_read(w, 0, big / 2);
		reg_write(w, 0, big, (uint64_t)((int64_t)(v << (64 - 4 * big)) >> (64 - 4 * big)));
		return done(w, true);
	case 0x99:
		if (w->only_look)
			return EMU_PLAIN;
		v = reg_read(w, 0, big);
		reg_write(w, 2, big, v >> (8 * big - 1) ? UINT64_MAX : 0);
		return done(w, true);
	case 0x9c: return in->opsize ? EMU_PLAIN : done(w, pushf(w));
	case 0xa8:
	case 0xa9:
		if (w->only_look)
			return EMU_PLAIN;
		f = flags(w);
		alu_binary(ALU_TEST, size, reg_read(w, 0, size), (uint64_t)in->imm, &f);
		set_flags(w, f);
		return done(w, true);
	case 0xb0 ... 0xb7:
	case 0xb8 ... 0xbf:
		if (w->only_look)
			return EMU_PLAIN;
		reg_write(w, (op & 7) | (in->rex & 1) << 3, op < 0xb8 ? 1 : big, (uint64_t)in->imm);
		return done(w, true);
	case 0xc0:
	case 0xc1:
	case 0xd0 ... 0xd3: return done(w, integer_shift(w, size));
	case 0xc2: return ret(w, (uint16_t)in->imm);
	case 0xc3: return ret(w, 0);
	case 0xc6:
	case 0xc7: return in->reg & 7 ? EMU_OPAQUE : done(w, move_to_rm(w, size, (uint64_t)in->imm));
	case 0xc9:
		if (in->opsize || !load(w, *reg_at(w, 5), 8, &v))
			return EMU_PLAIN;
		*reg_at(w, 4) = *reg_at(w, 5) + 8;
		*reg_at(w, 5) = v;
		return done(w, true);
	case 0xe0 ... 0xe2: /* loopne, loope, loop */
		if (in->addr32 || w->only_look)
			return EMU_OPAQUE;
		v = --*reg_at(w, 1);
		return conditional(w, v && (op == 0xe2 || ((flags(w) >> 6 & 1) == (op & 1))));
	case 0xe3: return in->addr32 ? EMU_OPAQUE : conditional(w, *reg_at(w, 1) == 0);
	case 0xe8: return jump(w, uc_pc(w->uc) + in->len + (uint64_t)in->imm, true);
	case 0xe9:
	case 0xeb: return jump(w, uc_pc(w->uc) + in->len + (uint64_t)in->imm, false);
	case 0xf6:
	case 0xf7: return done(w, integer_group3(w, size));
	case 0xfe: return (in->reg & 7) > 1 ? EMU_OPAQUE : group5(w, 1);
	case 0xff: return group5(w, big);
	}
	return in->jumps ? EMU_OPAQUE : EMU_PLAIN;
}

static enum emulation two_byte(struct work *w)
{
	const struct insn *in = w->in;
	unsigned big = decode_size(in);
	uint64_t v;

	switch (in->op) {
	case 0x05: return EMU_SYSCALL;
	case 0x18 ... 0x1f: /* hints and endbr64: no effect, not even a memory access */
		w->out->naccess = 0;
		return in->op == 0x1e && in->rep && (in->reg & 7) == 1 ? EMU_PLAIN : done(w, !w->only_look);
	case 0x40 ... 0x4f:
		if (!rm_read(w, big, &v))
			return EMU_PLAIN;
		/* a 32-bit destination is zero-extended even when nothing is moved */
		reg_write(w, in->reg, big, alu_condition(in->op & 15, flags(w)) ? v : reg_read(w, in->reg, big));
		return done(w, true);
	case 0x80 ... 0x8f: return conditional(w, alu_condition(in->op & 15, flags(w)));
	case 0x90 ... 0x9f: return done(w, move_to_rm(w, 1, alu_condition(in->op & 15, flags(w))));
	case 0xc8 ... 0xcf:
		if (w->only_look || big == 2)
			return EMU_PLAIN;
		v = reg_read(w, (in->op & 7) | (in->rex & 1) << 3, big);
		reg_write(w, (in->op & 7) | (in->rex & 1) << 3, big,
			  big == 8 ? __builtin_bswap64(v) : __builtin_bswap32((uint32_t)v));
		return done(w, true);
	case 0xaf: return done(w, rm_read(w, big, &v) && integer_multiply(w, big, reg_read(w, in->reg, big), v));
	case 0xb6: return done(w, move_to_reg(w, big, 1, false));
	case 0xb7: return done(w, move_to_reg(w, big, 2, false));
	case 0xbe: return done(w, move_to_reg(w, big, 1, true));
	case 0xbf: return done(w, move_to_reg(w, big, 2, true));
	}
	return in->jumps ? EMU_OPAQUE : EMU_PLAIN;
}

/* The memory that an instruction touches that we do not carry out, for watchpoints: its operand, both read and written
 * if unknown.  The exact width hardly matters. */
static void touches_unknown(struct work *w)
{
	const struct insn *in = w->in;
	uint64_t count = in->string && (in->rep || in->repne) ? *reg_at(w, 1) : 1;
	unsigned size = in->op & 1 ? decode_size(in) : 1;
	uint64_t len = count * size, back = flags(w) & 0x400 ? len - size : 0;

	w->out->naccess = 0;
	if (in->string && len) {
		if (in->op != 0xaa && in->op != 0xab && in->op != 0xae && in->op != 0xaf)
			touches(w, *reg_at(w, 6) - back, len, false);
		if (in->op != 0xac && in->op != 0xad)
			touches(w, *reg_at(w, 7) - back, len,
				in->op == 0xa4 || in->op == 0xa5 || in->op == 0xaa || in->op == 0xab);
	} else if (in->memory && !in->compressed) {
		size = in->map == MAP_ONE ? decode_size(in) : in->vector_prefix ? 32 : 16;
		touches(w, w->addr, size, false);
		touches(w, w->addr, size, true);
	}
}

enum emulation emulate(ucontext_t *uc, bool only_look, struct emulated *out)
{
	struct work w = {.uc = uc, .g = uc->uc_mcontext.gregs, .out = out, .only_look = only_look};
	enum emulation result = EMU_PLAIN;
	const uint64_t pc = uc_pc(uc);

	out->naccess = 0;
	out->len = 0;
	w.in = fetch(pc);
	if (!w.in)
		return EMU_OPAQUE;
	out->len = w.in->len;
	if (w.in->memory)
		w.addr = decode_address(w.in, uc);
	if (w.in->string) {
		result = EMU_PLAIN;
	} else if (vector_locked(w.in)) { /* executed by the processor: other processes may share the memory */
		result = !only_look && vector_emulate(uc, w.in, w.addr, out) ? EMU_DONE : EMU_PLAIN;
	} else if (w.in->lock) {
		result = EMU_PLAIN;
	} else if (w.in->vector_prefix) {
		result = !only_look && vector_emulate(uc, w.in, w.addr, out) ? EMU_DONE : EMU_PLAIN;
	} else if (w.in->map == MAP_ONE && !(w.in->rep && w.in->op == 0x90)) {
		result = one_byte(&w);
	} else if (w.in->map == MAP_ONE) { /* pause */
		result = done(&w, !only_look);
	} else {
		if (w.in->map == MAP_0F)
			result = two_byte(&w);
		if (result == EMU_PLAIN)
			out->naccess = 0;
		if (result == EMU_PLAIN && !only_look)
			result = vector_emulate(uc, w.in, w.addr, out) ? EMU_DONE : EMU_PLAIN;
	}
	if (result == EMU_PLAIN || result == EMU_OPAQUE)
		touches_unknown(&w);
	if (result == EMU_DONE && pc == emulate_counted.pc)
		++*emulate_counted.left;
	return result;
}

bool emulate_at_rep_string(const ucontext_t *uc)
{
	const struct insn *in = fetch(uc_pc(uc));

	return in && in->string && (in->rep || in->repne);
}

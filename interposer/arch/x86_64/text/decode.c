/* Opcode maps: Intel SDM vol. 2, appendix A; prefixes and ModRM: chapter 2. */
#include "arch/registers.h"
#include "arch/insn.h"
#include <errno.h>
#include <string.h>
#include "text/registers.h"

enum { IMM_NONE, IMM_8, IMM_16, IMM_Z, IMM_32, IMM_V, IMM_OFFSET, IMM_ENTER };

static bool one_byte_modrm(uint8_t op)
{
	if (op < 0x40)
		return (op & 7) < 4;
	switch (op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x80 ... 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
	case 0xd8 ... 0xdf:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff: return true;
	}
	return false;
}

static int one_byte_imm(const struct insn *in)
{
	uint8_t op = in->op;

	if (op < 0x40)
		return (op & 7) == 4 ? IMM_8 : (op & 7) == 5 ? IMM_Z : IMM_NONE;
	switch (op) {
	case 0x6a:
	case 0x6b:
	case 0x70 ... 0x7f:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xb0 ... 0xb7:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xe0 ... 0xe7:
	case 0xeb: return IMM_8;
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7: return IMM_Z;
	case 0xe8:
	case 0xe9: /* an operand-size prefix is ignored here */ return IMM_32;
	case 0xb8 ... 0xbf: return IMM_V;
	case 0xa0 ... 0xa3: return IMM_OFFSET;
	case 0xc2:
	case 0xca: return IMM_16;
	case 0xc8: return IMM_ENTER;
	case 0xf6: return (in->reg & 7) < 2 ? IMM_8 : IMM_NONE;
	case 0xf7: return (in->reg & 7) < 2 ? IMM_Z : IMM_NONE;
	}
	return IMM_NONE;
}

static bool two_byte_modrm(uint8_t op)
{
	switch (op) {
	case 0x05 ... 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30 ... 0x37:
	case 0x77:
	case 0x80 ... 0x8f:
	case 0xa0 ... 0xa2:
	case 0xa8 ... 0xaa:
	case 0xc8 ... 0xcf: return false;
	}
	return true;
}

static int two_byte_imm(uint8_t op)
{
	switch (op) {
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4:
	case 0xc5:
	case 0xc6: return IMM_8;
	case 0x80 ... 0x8f: return IMM_32;
	}
	return IMM_NONE;
}

static bool jumps(const struct insn *in)
{
	uint8_t op = in->op, ext = in->reg & 7;

	if (in->vector_prefix)
		return false;
	if (in->map == MAP_0F)
		return (op >= 0x80 && op <= 0x8f) || op == 0x05 || op == 0x07 || op == 0x34 || op == 0x35 ||
		       op == 0x0b || op == 0xb9 || op == 0xff || op == 0x01 /* xend and others */;
	if (in->map != MAP_ONE)
		return false;
	switch (op) {
	case 0x70 ... 0x7f:
	case 0x9a:
	case 0xc2:
	case 0xc3:
	case 0xca ... 0xcf:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xeb:
	case 0xf1:
	case 0xf4: return true;
	case 0xff: return ext >= 2 && ext <= 5;
	case 0xc6:
	case 0xc7: /* xabort, xbegin */ return ext == 7;
	}
	return false;
}

struct cursor {
	const uint8_t *p, *end;
};

static bool little(struct cursor *c, unsigned bytes, int64_t *value)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < bytes)
		return false;
	memcpy(&v, c->p, bytes);
	c->p += bytes;
	*value = bytes ? (int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes) : 0;
	return true;
}

static bool modrm(struct cursor *c, struct insn *in, uint8_t rex)
{
	unsigned disp = 0;
	int64_t value;
	uint8_t b, sib;

	if (c->p >= c->end)
		return false;
	b = *c->p++;
	in->has_modrm = true;
	in->mod = b >> 6;
	in->reg = ((b >> 3) & 7) | (rex & 4) << 1;
	in->rm = (b & 7) | (rex & 1) << 3;
	in->memory = in->mod != 3;
	in->base = in->index = 0xff;
	if (!in->memory)
		return true;
	disp = in->mod == 1 ? 1 : in->mod == 2 ? 4 : 0;
	if ((b & 7) == 4) {
		if (c->p >= c->end)
			return false;
		sib = *c->p++;
		in->scale = sib >> 6;
		in->index = ((sib >> 3) & 7) | (rex & 2) << 2;
		if (in->index == 4)
			in->index = 0xff;
		in->base = (sib & 7) | (rex & 1) << 3;
		if ((sib & 7) == 5 && in->mod == 0) {
			in->base = 0xff;
			disp = 4;
		}
	} else if ((b & 7) == 5 && in->mod == 0) {
		in->rip_relative = true;
		disp = 4;
	} else {
		in->base = in->rm;
	}
	if (!little(c, disp, &value))
		return false;
	in->disp = (int32_t)value;
	return true;
}

static bool immediate(struct cursor *c, struct insn *in, int kind)
{
	unsigned z = in->opsize && !(in->rex & 8) ? 2 : 4;
	int64_t ignored;

	switch (kind) {
	case IMM_8: return little(c, 1, &in->imm);
	case IMM_16: return little(c, 2, &in->imm);
	case IMM_Z: return little(c, z, &in->imm);
	case IMM_32: return little(c, 4, &in->imm);
	case IMM_V: return little(c, in->rex & 8 ? 8 : z, &in->imm);
	case IMM_OFFSET: return little(c, in->addr32 ? 4 : 8, &in->imm);
	case IMM_ENTER: return little(c, 2, &in->imm) && little(c, 1, &ignored);
	}
	return true;
}

/* C5, C4 and 62: prefix, map and opcode together. */
static bool vector_opcode(struct cursor *c, struct insn *in, uint8_t *rex)
{
	uint8_t first = c->p[-1];
	unsigned extra = first == 0xc5 ? 1 : first == 0xc4 ? 2 : 3;

	if ((size_t)(c->end - c->p) < extra + 1)
		return false;
	/* the R, X and B bits are stored inverted */
	*rex = (uint8_t)((~c->p[0] >> 5) & (first == 0xc5 ? 4 : 7));
	in->map = first == 0xc5 ? MAP_0F : c->p[0] & (first == 0xc4 ? 0x1f : 7);
	in->vector_prefix = true;
	in->compressed = first == 0x62;
	/* the pp field encodes a prefix; it is in the last byte, except in EVEX */
	in->opsize = (c->p[first == 0x62 ? 1 : extra - 1] & 3) == 1;
	in->rep = (c->p[first == 0x62 ? 1 : extra - 1] & 3) == 2;
	in->repne = (c->p[first == 0x62 ? 1 : extra - 1] & 3) == 3;
	c->p += extra;
	in->op_at = (uint8_t)(c->p - in->bytes);
	in->op = *c->p++;
	return in->map >= MAP_0F && in->map <= MAP_0F3A;
}

static bool opcode(struct cursor *c, struct insn *in, uint8_t *rex)
{
	uint8_t b;

	for (;;) {
		if (c->p >= c->end)
			return false;
		b = *c->p++;
		if (b == 0x66)
			in->opsize = true;
		else if (b == 0xf2)
			in->repne = true, in->rep = false;
		else if (b == 0xf3)
			in->rep = true, in->repne = false;
		else if (b == 0xf0)
			in->lock = true;
		else if (b == 0x67)
			in->addr32 = true;
		else if (b == 0x64 || b == 0x65)
			in->segment = b;
		else if (b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26)
			break;
	}
	if ((b & 0xf0) == 0x40) {
		in->rex = *rex = b;
		if (c->p >= c->end)
			return false;
		b = *c->p++;
	}
	if (b == 0xc5 || b == 0xc4 || b == 0x62)
		return vector_opcode(c, in, rex);
	if (b == 0x0f) {
		in->map = MAP_0F;
		if (c->p >= c->end)
			return false;
		b = *c->p++;
		if (b == 0x38 || b == 0x3a) {
			in->map = b == 0x38 ? MAP_0F38 : MAP_0F3A;
			if (c->p >= c->end)
				return false;
			b = *c->p++;
		} else if (b == 0x0f) {
			return false; /* 3DNow! */
		}
	}
	in->op_at = (uint8_t)(c->p - 1 - in->bytes);
	in->op = b;
	return true;
}

int decode(const uint8_t *bytes, size_t avail, struct insn *in)
{
	struct cursor c;
	uint8_t rex = 0;
	bool with_modrm;
	int imm;

	memset(in, 0, sizeof(*in));
	if (avail > sizeof(in->bytes))
		avail = sizeof(in->bytes);
	memcpy(in->bytes, bytes, avail);
	c = (struct cursor){in->bytes, in->bytes + avail};
	if (!opcode(&c, in, &rex))
		return -EINVAL;
	if (in->map == MAP_ONE)
		with_modrm = one_byte_modrm(in->op);
	else if (in->map == MAP_0F)
		with_modrm = in->vector_prefix ? in->op != 0x77 : two_byte_modrm(in->op);
	else
		with_modrm = true;
	if (with_modrm && !modrm(&c, in, rex))
		return -EINVAL;
	if (in->map == MAP_ONE)
		imm = one_byte_imm(in);
	else if (in->map == MAP_0F)
		imm = two_byte_imm(in->op);
	else
		imm = in->map == MAP_0F3A ? IMM_8 : IMM_NONE;
	if (!immediate(&c, in, imm))
		return -EINVAL;
	in->len = (uint8_t)(c.p - in->bytes);
	in->jumps = jumps(in);
	in->string = in->map == MAP_ONE && ((in->op >= 0xa4 && in->op <= 0xa7) || (in->op >= 0xaa && in->op <= 0xaf) ||
					    (in->op >= 0x6c && in->op <= 0x6f));
	return 0;
}

uint64_t decode_address(const struct insn *in, const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	uint64_t a = (uint64_t)(int64_t)in->disp;

	if (in->rip_relative)
		a += uc_pc(uc) + in->len;
	if (in->base != 0xff)
		a += (uint64_t)g[registers_greg[in->base]];
	if (in->index != 0xff)
		a += (uint64_t)g[registers_greg[in->index]] << in->scale;
	if (in->addr32)
		a &= UINT32_MAX;
	if (in->segment == 0x64)
		a += text_thread->tls();
	return a;
}

unsigned decode_size(const struct insn *in)
{
	return in->rex & 8 ? 8 : in->opsize ? 2 : 4;
}

bool insn_pauses(const struct insn *in)
{
	return in->map == MAP_ONE && in->rep && in->op == 0x90;
}

bool insn_atomic(const struct insn *in)
{
	return in->lock || (in->map == MAP_ONE && (in->op | 1) == 0x87); /* xchg needs no prefix */
}

/* Arithmetic with a register or a constant (not cmp), shifts, not, neg, inc, dec (SDM, volume 2). */
unsigned insn_changes(const struct insn *in)
{
	const unsigned op = in->op, reg = in->reg & 7, size = op & 1 ? decode_size(in) : 1;
	if (!in->memory || in->lock || in->map != MAP_ONE || in->vector_prefix)
		return 0;
	if ((op < 0x38 && (op & 7) < 2) || (op >= 0xc0 && op <= 0xc1) || (op >= 0xd0 && op <= 0xd3))
		return size;
	if ((op == 0x80 || op == 0x81 || op == 0x83) && reg != 7)
		return size;
	return (op >= 0xfe && reg < 2) || ((op == 0xf6 || op == 0xf7) && (reg == 2 || reg == 3)) ? size : 0;
}

bool insn_gathers(const struct insn *in)
{
	return in->map == MAP_0F38 && in->vector_prefix && in->op >= 0x90 && in->op <= 0x93;
}

bool insn_touches(const struct insn *in)
{
	const bool nop = in->map == MAP_0F && in->op == 0x1f, lea = in->map == MAP_ONE && in->op == 0x8d;
	return in->memory && !nop && !lea;
}

enum { NONE = 0xff, SP = 4, BP = 5 };

bool insn_touches_shared(const struct insn *in)
{
	return insn_touches(in) && !in->jumps && in->base != SP && in->base != BP;
}

bool insn_touches_variable(const struct insn *in)
{
	return insn_touches(in) && in->index == NONE &&
	       (in->rip_relative || in->base == NONE || in->base == SP || in->base == BP);
}

uint64_t insn_likely_next(const struct insn *in, uint64_t pc)
{
	const bool one = in->map == MAP_ONE, jump = one && (in->op == 0xe9 || in->op == 0xeb);
	const bool jcc = (one && in->op >= 0x70 && in->op <= 0x7f) ||
			 (in->map == MAP_0F && in->op >= 0x80 && in->op <= 0x8f && !in->vector_prefix);
	const bool call = one && in->op == 0xe8;
	if (jump || (jcc && in->imm < 0))
		return pc + in->len + (uint64_t)in->imm;
	return in->jumps && !jcc && !call ? 0 : pc + in->len;
}

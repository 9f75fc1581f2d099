/* Intel SDM vol. 2: REP/REPE/REPNE, MOVS, STOS, LODS, CMPS, SCAS. */
#include "arch/string_insn.h"
#include <errno.h>
#include <string.h>
#include "arch/registers.h"
#include "arch/x86_64/text/alu.h"
#include "interface/layout.h"
#include "text/registers.h"
#include "space/upper_memory.h"

#define BACKWARD 0x400u
#define ZERO 0x40u

enum { MOVS = 0xa4, CMPS = 0xa6, STOS = 0xaa, LODS = 0xac, SCAS = 0xae };

struct string_op {
	greg_t *g;
	uint8_t op; /* opcode without its width bit */
	unsigned size;
	int64_t step;
	bool repeated, until_equal;
};

/* Whole elements from here up to the end of the page, or to its start when going backward. */
static uint64_t room(uint64_t at, const struct string_op *s)
{
	uint64_t in_page = at % RDB_PAGE;

	if (s->step < 0)
		return in_page / s->size; /* an element across the border is done alone */
	return (RDB_PAGE - in_page) / s->size;
}

static bool there(const struct string_op *s)
{
	bool from = s->op != STOS && s->op != SCAS, to = s->op != LODS;

	if (from && !upper_readable((uint64_t)s->g[REG_RSI], s->size))
		return false;
	if (!to)
		return true;
	return s->op == MOVS || s->op == STOS ? upper_writable((uint64_t)s->g[REG_RDI], s->size)
					      : upper_readable((uint64_t)s->g[REG_RDI], s->size);
}

static uint64_t get(uint64_t at, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, (const void *)at, size);
	return v;
}

/* Carries out one element.  False: it ends a repeated comparison. */
static bool element(const struct string_op *s)
{
	greg_t *g = s->g;
	uint64_t si = (uint64_t)g[REG_RSI], di = (uint64_t)g[REG_RDI], a, mask = alu_mask(s->size);
	uint64_t f = (uint64_t)g[REG_EFL];

	switch (s->op) {
	case MOVS:
		a = get(si, s->size);
		memcpy((void *)di, &a, s->size);
		break;
	case STOS: memcpy((void *)di, &g[REG_RAX], s->size); break;
	case LODS:
		a = s->size == 4 ? 0 : (uint64_t)g[REG_RAX] & ~mask;
		g[REG_RAX] = (greg_t)(a | get(si, s->size));
		break;
	default:
		a = s->op == CMPS ? get(si, s->size) : (uint64_t)g[REG_RAX] & mask;
		alu_binary(ALU_CMP, s->size, a, get(di, s->size), &f);
		g[REG_EFL] = (greg_t)(((uint64_t)g[REG_EFL] & ~ALU_FLAGS) | (f & ALU_FLAGS));
	}
	if (s->op != STOS && s->op != SCAS)
		g[REG_RSI] += s->step;
	if (s->op != LODS)
		g[REG_RDI] += s->step;
	if (s->op == CMPS || s->op == SCAS)
		return s->until_equal != ((f & ZERO) != 0);
	return true;
}

/* Carries out several elements of a copy or fill at once.  Returns how many; 0: none. */
static uint64_t bulk(const struct string_op *s, uint64_t count)
{
	uint64_t si = (uint64_t)s->g[REG_RSI], di = (uint64_t)s->g[REG_RDI], n = room(di, s), bytes;

	if (s->step < 0 || (s->op != MOVS && !(s->op == STOS && s->size == 1)))
		return 0;
	if (s->op == MOVS && room(si, s) < n)
		n = room(si, s);
	if (n > count)
		n = count;
	bytes = n * s->size;
	if (s->op == MOVS && di > si && di - si < bytes)
		return 0; /* it reads bytes that it has written */
	if (s->op == MOVS)
		memmove((void *)di, (const void *)si, bytes);
	else
		memset((void *)di, (int)s->g[REG_RAX], bytes);
	s->g[REG_RDI] += (greg_t)bytes;
	if (s->op == MOVS)
		s->g[REG_RSI] += (greg_t)bytes;
	return n;
}

bool string_repeats(const struct insn *in)
{
	return in->rep || in->repne;
}

bool string_stores(const struct insn *in, const ucontext_t *uc, uint64_t *at, uint64_t *len)
{
	const unsigned size = in->op & 1 ? decode_size(in) : 1;
	const bool stores = (in->op & 0xfe) == MOVS || (in->op & 0xfe) == STOS;
	*at = UC_REG(uc, RDI);
	*len = !stores ? 0 : string_repeats(in) ? size * UC_REG(uc, RCX) : size;
	return !stores || !(UC_FLAGS(uc) & BACKWARD);
}

int string_finish(ucontext_t *uc, const struct insn *in)
{
	greg_t *g = uc->uc_mcontext.gregs;
	unsigned size = in->op & 1 ? decode_size(in) : 1;
	struct string_op s = {
		.g = g, .op = in->op & 0xfe, .size = size, .repeated = string_repeats(in), .until_equal = in->repne};
	bool more = true;

	if (!in->string || in->op < 0xa4 || in->addr32 || in->segment)
		return -ENOTSUP;
	s.step = (uint64_t)g[REG_EFL] & BACKWARD ? -(int64_t)size : (int64_t)size;
	while (more && (!s.repeated || g[REG_RCX])) {
		uint64_t n;

		if (!there(&s))
			return -EAGAIN;
		n = s.repeated ? bulk(&s, (uint64_t)g[REG_RCX]) : 0;
		if (!n) {
			more = element(&s);
			n = 1;
		}
		if (!s.repeated)
			break;
		g[REG_RCX] -= (greg_t)n;
	}
	g[REG_RIP] += in->len;
	return 0;
}

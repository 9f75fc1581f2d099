/* Which instructions a patch can displace. */
#include <errno.h>
#include <string.h>
#include "text/fetch.h"
#include "interface/layout.h"
#include "arch/trampoline_code.h"

#define REACH 0x7fff0000ull

static bool displaceable_jump(const struct insn *in)
{
	if (in->opsize || in->addr32)
		return false;
	if (in->map == MAP_0F)
		return in->op >= 0x80 && in->op <= 0x8f;
	switch (in->op) {
	case 0x70 ... 0x7f:
	case 0xc2:
	case 0xc3:
	case 0xe0 ... 0xe3:
	case 0xe8:
	case 0xe9:
	case 0xeb: return true;
	case 0xff: return (in->reg & 7) == 2 || (in->reg & 7) == 4;
	}
	return false;
}

static bool displaceable(const struct insn *in)
{
	if (in->jumps)
		return in->map <= MAP_0F && displaceable_jump(in);
	if (in->vector_prefix)
		return true;
	if (in->map == MAP_ONE) /* in and out would fault anywhere */
		return !(in->op >= 0x6c && in->op <= 0x6f) && !(in->op >= 0xe4 && in->op <= 0xe7) &&
		       !(in->op >= 0xec && in->op <= 0xef);
	if (in->map == MAP_0F) /* rdtsc, cpuid, xgetbv and others may fault and be answered; likewise rdrand */
		return in->op != 0x01 && in->op != 0xa2 && !(in->op >= 0x30 && in->op <= 0x33) &&
		       !(in->op == 0xc7 && !in->memory);
	return true;
}

static bool never_goes_on(const struct insn *in)
{
	return in->map == MAP_ONE && !in->vector_prefix &&
	       (in->op == 0xc2 || in->op == 0xc3 || in->op == 0xe9 || in->op == 0xeb ||
		(in->op == 0xff && (in->reg & 7) == 4));
}

static bool padding(const struct insn *in)
{
	return (in->map == MAP_ONE && in->op == 0x90 && !in->rex && !in->rep) ||
	       (in->map == MAP_0F && !in->vector_prefix && in->op == 0x1f);
}

static void narrow(struct plan *p, uint64_t target)
{
	uint64_t low = target > REACH ? target - REACH : 0, high = target + REACH;

	if (low > p->low)
		p->low = low;
	if (high < p->high)
		p->high = high;
}

/* After an unconditional jump there may be data, which must not change: only padding is displaced there.  The program
 * may jump to the padding, too (a nop is the end of many unoptimised loops). */
int plan_make(uint64_t pc, struct plan *p)
{
	bool jumped = false;

	p->pc = p->next = pc;
	p->n = 0;
	p->ends = false;
	p->low = RDB_PAGE * 16;
	p->high = RDB_ARENA_END;
	narrow(p, pc);
	if (pc >= RDB_GATE && pc < RDB_GATE_CODE + RDB_PAGE)
		return -ENOTSUP;
	while (p->next < pc + PATCH) {
		const struct insn *in = fetch(p->next);

		if (!in || !displaceable(in) || (jumped && !padding(in)))
			return -ENOTSUP;
		p->in[p->n] = *in;
		p->from[p->n] = p->next;
		p->copy[p->n] = 0;
		p->stops[p->n] = false;
		p->n++;
		p->next += in->len;
		if (in->has_modrm && in->rip_relative)
			narrow(p, p->next + (uint64_t)(int64_t)in->disp);
		p->ends = never_goes_on(in);
		jumped |= p->ends;
	}
	return p->low <= p->high ? 0 : -ENOTSUP;
}

bool trampoline_byte_undefined(uint8_t byte)
{
	static const uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f,
					  0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd6};

	return memchr(invalid, byte, sizeof(invalid)) != NULL;
}

/* in, out, hlt, cli and sti at CPL 3: SIGSEGV */
bool trampoline_byte_faults(uint8_t byte)
{
	static const uint8_t privileged[] = {0x6c, 0x6d, 0x6e, 0x6f, 0xe4, 0xe5, 0xe6, 0xe7,
					     0xec, 0xed, 0xee, 0xef, 0xf4, 0xfa, 0xfb};

	return trampoline_byte_undefined(byte) || memchr(privileged, byte, sizeof(privileged));
}

bool trampoline_possible(uint64_t pc, uint64_t starts[4], unsigned *nstarts)
{
	struct plan p;

	*nstarts = 0;
	if (plan_make(pc, &p))
		return false;
	for (unsigned i = 1; i < p.n; i++)
		starts[(*nstarts)++] = p.from[i];
	return true;
}

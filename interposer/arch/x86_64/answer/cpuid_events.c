#include "arch/x86_64/answer/cpuid_events.h"
#include <cpuid.h>
#include <string.h>
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "arch/x86_64/base/cpu_level.h"
#include "arch/insn.h"
#include "arch/x86_64/text/escape.h"
#include "arch/x86_64/text/starts.h"
#include "answer/instructions.h"
#include "log/log_reader.h"

enum {
	FOLLOWING = 4,
	WITHIN = 8 /* bytes */,
	CPUID = 0xa2,
	UD0 = 0xff /* 0f ff (Intel SDM vol. 2, "UD"): no compiler makes one */,
	CPUID_EVENT = 4
};

/* Do instructions follow? */
static bool goes_on(const uint8_t *p, const uint8_t *end)
{
	struct insn in;
	for (unsigned i = 0; i < FOLLOWING; i++, p += in.len)
		if (decode(p, (size_t)(end - p), &in))
			return false;
	return true;
}

/* Is mov $LEAF,%eax right before it, with a plausible LEAF?  Its last byte, 0x80, and CPUID's two bytes would also be
 * an instruction, at which decoding from elsewhere may end. */
static bool leaf_before(const uint8_t *begin, const uint8_t *p)
{
	return p - begin >= 5 && p[-5] == 0xb8 && p[-3] == 0 && p[-2] == 0 &&
	       (p[-1] == 0 || p[-1] == 0x40 || p[-1] == 0x80);
}

/* Is a mov or xor of registers into %eax right before it? */
static bool eax_before(const uint8_t *begin, const uint8_t *p)
{
	if (p - begin < 2)
		return false;
	const uint8_t op = p[-2], modrm = p[-1];
	return (op == 0x89 && (modrm & 0xc7) == 0xc0) || (op == 0x8b && (modrm & 0xf8) == 0xc0) ||
	       ((op == 0x31 || op == 0x33) && modrm == 0xc0);
}

/* In data the two bytes may occur by chance: a real CPUID has its leaf set shortly before. */
static bool leaf_is_given(const uint8_t *begin, const uint8_t *p)
{
	for (unsigned i = 0; i < WITHIN; i++, p--)
		if (leaf_before(begin, p) || eax_before(begin, p))
			return true;
	return false;
}

const uint8_t *cpuid_find(const uint8_t *begin, const uint8_t *from, const uint8_t *end, bool mixed)
{
	for (const uint8_t *p = from; (p = escape_next(p, end, CPUID, CPUID)); p++)
		if ((leaf_before(begin, p) || text_starts_here(begin, p, end)) && goes_on(p + 2, end) &&
		    (!mixed || leaf_is_given(begin, p)))
			return p;
	return NULL;
}

void cpuid_look(uint8_t *begin, uint8_t *end, bool mixed)
{
	const uint8_t *p = begin;
	while ((p = cpuid_find(begin, p, end, mixed))) {
		instructions_patch((uint8_t *)p + 1, UD0);
		p += 2;
	}
}

/* Intel SDM vol. 2, CPUID, "Structured Extended Feature Flags"; psABI AMD64, microarchitecture levels */
static void hide(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
	enum { A, B, C, D };
	unsigned level = cpu_shown_level();
	/* what answers differently each time, and is not an event */
	if (leaf == 7 && subleaf == 0)
		r[C] &= ~0x00400020u; /* RDPID, WAITPKG */
	else if (leaf == 0x80000008)
		r[B] &= ~0x00000010u; /* RDPRU */
	if (level < 4 && leaf == 7 && subleaf == 0) {
		r[B] &= ~0xdc230000u; /* AVX512 F DQ IFMA PF ER CD BW VL */
		r[C] &= ~0x00005842u; /* VBMI VBMI2 VNNI BITALG VPOPCNTDQ */
		r[D] &= ~0x03c0010cu; /* 4VNNIW 4FMAPS VP2INTERSECT, AMX, FP16 */
	} else if (level < 4 && leaf == 7) {
		r[A] &= ~0x00800030u; /* AVX-VNNI, AVX512-BF16, AVX-IFMA */
		r[D] = 0;
	}
	if (level < 3 && leaf == 7 && subleaf == 0)
		r[B] &= ~0x00000128u; /* BMI1 AVX2 BMI2 */
	else if (level < 3 && leaf == 1)
		r[C] &= ~0x30401000u; /* FMA MOVBE AVX F16C */
	else if (level < 3 && leaf == 0x80000001)
		r[C] &= ~0x00000020u; /* LZCNT */
}

static void ask(const uint64_t args[2], uint32_t r[4])
{
	const bool traps = lower.started && lower.upper.traps & TRAPS_IDENTITY;
	if (traps)
		traps_set(false);
	__cpuid_count((uint32_t)args[0], (uint32_t)args[1], r[0], r[1], r[2], r[3]);
	if (traps)
		traps_set(true);
}

static void answer(const uint64_t args[2], uint32_t r[4], ucontext_t *uc)
{
	struct event *ev = event_begin(LOG_TSC, CPUID_EVENT, args, 2);
	if (lower.started && replaying()) {
		size_t n;
		lower.mode->answer(ev, uc);
		const void *note = log_note(lower.mode->record(), RDB_NOTE_TEXT, &n);
		if (note && n == 4 * sizeof(*r))
			memcpy(r, note, n);
	} else {
		ask(args, r);
		hide((uint32_t)args[0], (uint32_t)args[1], r);
		event_note(ev, RDB_NOTE_TEXT, r, 4 * sizeof(*r));
	}
	event_end(ev);
}

bool cpuid_fault(ucontext_t *uc)
{
	const uint8_t *p = (const uint8_t *)UC_REG(uc, RIP);
	const bool upper = RDB_IS_UPPER(p);
	if (p[0] != 0x0f || (p[1] != CPUID && p[1] != UD0))
		return false;
	const uint64_t args[2] = {(uint32_t)UC_REG(uc, RAX), (uint32_t)UC_REG(uc, RCX)};
	uint32_t r[4] = {0};
	if (upper)
		answer(args, r, uc);
	else
		ask(args, r);
	UC_REG(uc, RAX) = r[0];
	UC_REG(uc, RBX) = r[1];
	UC_REG(uc, RCX) = r[2];
	UC_REG(uc, RDX) = r[3];
	UC_REG(uc, RIP) += 2;
	if (upper)
		event_answered(uc);
	return true;
}

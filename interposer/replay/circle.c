#include "replay/circle.h"
#include <stdint.h>
#include <string.h>
#include "base/context.h"
#include "text/decode.h"
#include "text/emulate.h"
#include "text/fetch.h"
#include "text/registers.h"
#include "text/string_insn.h"
#include "space/upper_memory.h"

/* XSAVE: x87, SSE and AVX (Intel SDM vol. 1, 13.4); what the kernel says about it in there (asm/sigcontext.h). */
enum {
	STORES = 4096,
	SPARE = 16, /* an instruction stores less */
	BACKWARD = 0x400,
	STATE = 832,
	MAGIC_AT = 464,
	FEATURES_AT = 472,
	SIZE_AT = 480,
	AVX = 7,
	SSE = 3
};

struct store {
	uint64_t addr, len;
	uint8_t before[64];
};

static struct {
	struct store stores[STORES];
	unsigned n;
} circle;

struct place {
	uint64_t gpr[16], pc, flags;
	uint8_t vectors[STATE];
};

static void before_store(uint64_t addr, uint64_t len)
{
	for (uint64_t n; len; addr += n, len -= n) {
		struct store *s = &circle.stores[circle.n++];
		n = len < sizeof(s->before) ? len : sizeof(s->before);
		s->addr = addr;
		s->len = n;
		memcpy(s->before, (const void *)addr, n);
	}
}

/* Before anything is stored: could it be taken back? */
static bool room(uint64_t len)
{
	return circle.n + len / sizeof(circle.stores[0].before) + SPARE <= STORES;
}

/* Stores of what was there already say nothing: a call pushes the same return address each time. */
static bool stored_something(unsigned since)
{
	for (unsigned i = since; i < circle.n; i++)
		if (memcmp((const void *)circle.stores[i].addr, circle.stores[i].before, circle.stores[i].len))
			return true;
	return false;
}

static void take_back(void)
{
	while (circle.n) {
		const struct store *s = &circle.stores[--circle.n];
		memcpy((void *)s->addr, s->before, s->len);
	}
}

static void stand(const ucontext_t *uc, struct place *p)
{
	for (unsigned i = 0; i < 16; i++)
		p->gpr[i] = (uint64_t)uc->uc_mcontext.gregs[registers_greg[i]];
	p->pc = uc_pc(uc);
	p->flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL];
	memcpy(p->vectors, uc->uc_mcontext.fpregs, STATE);
}

static bool same(const struct place *a, const struct place *b)
{
	return a->pc == b->pc && !memcmp(a, b, sizeof(*a));
}

/* The string instructions of memset, memcpy and others.  False: it is another one, or too long. */
static bool string(ucontext_t *uc)
{
	const struct insn *in = fetch(uc_pc(uc));
	if (!in || !in->string || in->map != MAP_ONE)
		return false;
	if ((in->op & 0xfe) == 0xa4 || (in->op & 0xfe) == 0xaa) { /* movs, stos */
		uint64_t size = in->op & 1 ? (in->rex & 8 ? 8 : in->opsize ? 2 : 4) : 1;
		uint64_t len = size * (in->rep || in->repne ? (uint64_t)uc->uc_mcontext.gregs[REG_RCX] : 1);
		uint64_t at = (uint64_t)uc->uc_mcontext.gregs[REG_RDI];
		if (uc->uc_mcontext.gregs[REG_EFL] & BACKWARD || !room(len) || (len && !upper_writable(at, len)))
			return false;
		before_store(at, len);
	}
	return string_finish(uc, in) == 0;
}

/* A context of our own, with the vector state of a signal frame. */
static void copy(ucontext_t *uc, struct context *vectors, const ucontext_t *from)
{
	*uc = *from;
	context_save(vectors, from);
	if (!from->uc_mcontext.fpregs) {
		const uint32_t magic = 0x46505853, size = STATE;
		const uint64_t features = __builtin_cpu_supports("avx") ? AVX : SSE;
		memcpy(vectors->xsave + MAGIC_AT, &magic, sizeof(magic));
		memcpy(vectors->xsave + FEATURES_AT, &features, sizeof(features));
		memcpy(vectors->xsave + SIZE_AT, &size, sizeof(size));
	}
	uc->uc_mcontext.fpregs = (void *)vectors->xsave;
}

bool circle_from(const ucontext_t *from, unsigned instructions)
{
	static ucontext_t uc;
	static struct context vectors __attribute__((aligned(64)));
	static struct place then, now;
	void (*outer)(uint64_t addr, uint64_t len) = emulate_before_store;
	bool found = false;
	unsigned since = 0, next = 1;
	copy(&uc, &vectors, from);
	upper_here();
	circle.n = 0;
	emulate_before_store = before_store;
	stand(&uc, &then);
	for (unsigned n = 1; n <= instructions && !found && room(0); n++) {
		struct emulated did;
		enum emulation how = emulate(&uc, false, &did);
		if (how != EMU_DONE && (how != EMU_PLAIN || !string(&uc)))
			break;
		if (uc_pc(&uc) == then.pc) {
			stand(&uc, &now);
			found = same(&then, &now) && !stored_something(since);
		}
		if (n == next) { /* Brent: the place to come back to is one that is farther and farther on */
			stand(&uc, &then);
			since = circle.n;
			next *= 2;
		}
	}
	emulate_before_store = outer;
	take_back();
	return found;
}

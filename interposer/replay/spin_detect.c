#include "replay/spin_detect.h"
#include <stdint.h>
#include <string.h>
#include "arch/context.h"
#include "arch/registers.h"
#include "arch/insn.h"
#include "text/emulate.h"
#include "text/fetch.h"
#include "text/registers.h"
#include "arch/string_insn.h"
#include "space/upper_memory.h"

enum { STORES = 4096, SPARE = 16 /* an instruction stores less */ };

struct store {
	uint64_t addr, len;
	uint8_t before[64];
};

static struct {
	struct store stores[STORES];
	unsigned n;
} trial;

struct place {
	uint64_t gpr[GENERAL_REGISTERS], pc, flags;
	uint8_t vectors[VECTOR_STATE];
};

static void before_store(uint64_t addr, uint64_t len)
{
	for (uint64_t n; len; addr += n, len -= n) {
		struct store *s = &trial.stores[trial.n++];
		n = len < sizeof(s->before) ? len : sizeof(s->before);
		s->addr = addr;
		s->len = n;
		memcpy(s->before, (const void *)addr, n);
	}
}

/* Call before a store of LEN bytes: is there room to undo it? */
static bool room(uint64_t len)
{
	return trial.n + len / sizeof(trial.stores[0].before) + SPARE <= STORES;
}

/* Stores of what was there already say nothing: a call pushes the same return address each time. */
static bool stored_something(unsigned since)
{
	for (unsigned i = since; i < trial.n; i++)
		if (memcmp((const void *)trial.stores[i].addr, trial.stores[i].before, trial.stores[i].len))
			return true;
	return false;
}

static void take_back(void)
{
	while (trial.n) {
		const struct store *s = &trial.stores[--trial.n];
		memcpy((void *)s->addr, s->before, s->len);
	}
}

static void stand(const ucontext_t *uc, struct place *p)
{
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		p->gpr[i] = *uc_general(uc, i);
	p->pc = uc_pc(uc);
	p->flags = UC_FLAGS(uc);
	memcpy(p->vectors, uc_vector_state(uc), VECTOR_STATE);
}

static bool same(const struct place *a, const struct place *b)
{
	return a->pc == b->pc && !memcmp(a, b, sizeof(*a));
}

/* Carries out a string instruction, as in memset or memcpy.  False: it is another instruction, or too long. */
static bool string(ucontext_t *uc)
{
	const struct insn *in = fetch(uc_pc(uc));
	uint64_t at, len;
	if (!in || !in->string || !string_stores(in, uc, &at, &len) || !room(len) || (len && !upper_writable(at, len)))
		return false;
	before_store(at, len);
	return string_finish(uc, in) == 0;
}

/* Copies a context with its vector state. */
static void copy(ucontext_t *uc, struct context *vectors, const ucontext_t *from)
{
	*uc = *from;
	context_own_vectors(uc, vectors, from);
}

bool spin_detect(const ucontext_t *from, unsigned instructions)
{
	static ucontext_t uc;
	static struct context vectors __attribute__((aligned(64)));
	static struct place then, now;
	void (*outer)(uint64_t addr, uint64_t len) = emulate_before_store;
	bool found = false;
	unsigned since = 0, next = 1;
	copy(&uc, &vectors, from);
	upper_here();
	trial.n = 0;
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
		if (n == next) { /* Brent's cycle detection: the place to return to moves on, each time twice as far */
			stand(&uc, &then);
			since = trial.n;
			next *= 2;
		}
	}
	emulate_before_store = outer;
	take_back();
	return found;
}

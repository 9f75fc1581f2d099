#include "marks/mark_trace.h"
#include <errno.h>
#include <string.h>
#include "arch/registers.h"
#include "arch/insn.h"
#include "text/emulate.h"
#include "text/fetch.h"
#include "interface/layout.h"
#include "base/monotonic.h"
#include "text/registers.h"
#include "arch/string_insn.h"
#include "marks/spin.h"
#include "text/spin_sites.h"
#include "arch/trampoline_code.h"
#include "space/upper_memory.h"

enum {
	PLACES = 2048, /* powers of two */
	WORDS = 1024,
	CHANGES = 1024, /* a power of two */
	RECENT = 16,    /* a power of two */
	CHANGING = 6,   /* of a mark's words: those that go on, */
	WRITTEN = 4,    /* those written last; the rest: those read last */
	LOOK_AHEAD = 48,
	SHORT = 300, /* a trace that says nothing about what changes */
	LIMIT_NS = 2000000,
	/* in the first instructions, which alone may tell what changes; the machine may have taken the processor away */
	LIMIT_WARM_NS = 8000000,
	AT_LAST = 500, /* instructions after LIMIT_NS */
};

struct registers {
	uint64_t gpr[GENERAL_REGISTERS], low[VECTORS];
};

struct visited {
	uint64_t pc;
	uint32_t trace; /* number of the trace; an older one: the entry is free */
	uint32_t count, last;
	uint32_t changes_before; /* trace.nchanges at the arrival before */
	bool jumped_to;
	struct registers before; /* at the arrival before */
};

struct word {
	uint64_t addr, value, first, before; /* values: now, at first, at the arrival before */
	uint32_t trace, changes;
};

struct change {
	struct word *word;
	uint64_t before;
};

static struct {
	uint32_t number;
	unsigned nplaces, nwords;
	struct visited places[PLACES];
	struct word words[WORDS];
	struct change changes[CHANGES]; /* the last ones */
	uint32_t nchanges;
	uint64_t written[RECENT], read[RECENT];
	unsigned nwritten, nread;
	struct registers start;
} trace;

static struct visited *place_at(uint64_t pc)
{
	for (unsigned i = (unsigned)(pc * 0x9e3779b97f4a7c15ull >> 53) % PLACES;; i = (i + 1) % PLACES) {
		struct visited *v = &trace.places[i];

		if (v->trace == trace.number && v->pc == pc)
			return v;
		if (v->trace == trace.number)
			continue;
		if (trace.nplaces >= PLACES * 3 / 4)
			return NULL;
		trace.nplaces++;
		v->pc = pc;
		v->trace = trace.number;
		v->count = v->last = 0;
		v->jumped_to = false;
		return v;
	}
}

static struct word *word_at(uint64_t addr)
{
	for (unsigned i = (unsigned)(addr * 0x9e3779b97f4a7c15ull >> 54) % WORDS;; i = (i + 1) % WORDS) {
		struct word *w = &trace.words[i];

		if (w->trace == trace.number && w->addr == addr)
			return w;
		if (w->trace == trace.number)
			continue;
		if (trace.nwords >= WORDS * 3 / 4)
			return NULL;
		trace.nwords++;
		memcpy(&w->value, (const void *)addr, 8);
		w->first = w->before = w->value;
		w->addr = addr;
		w->trace = trace.number;
		w->changes = 0;
		return w;
	}
}

/* `len` bytes at addr were written or read just now. */
static void note(uint64_t addr, uint64_t len, bool write)
{
	uint64_t first = addr & ~7ull, last = (addr + len - 1) & ~7ull;
	struct word *w;

	for (uint64_t at = first; at <= last && at - first < 32; at += 8) {
		if (!write) {
			trace.read[trace.nread++ % RECENT] = at;
			continue;
		}
		trace.written[trace.nwritten++ % RECENT] = at;
		w = word_at(at);
		if (w && memcmp(&w->value, (const void *)at, 8)) {
			trace.changes[trace.nchanges++ % CHANGES] = (struct change){w, w->value};
			memcpy(&w->value, (const void *)at, 8);
			w->before = w->value;
			w->changes++;
		}
	}
}

static void add_word(struct mark *m, unsigned limit, uint64_t addr)
{
	for (unsigned i = 0; i < m->nwords; i++)
		if (m->words[i].addr == addr)
			return;
	/* the gate's page holds addresses of the lower half, which differ in replay */
	if (m->nwords < limit && (addr & ~(RDB_PAGE - 1)) != RDB_GATE &&
	    !(mark_contested && mark_contested(addr, addr + 8)) && upper_readable(addr, 8))
		m->words[m->nwords++].addr = addr;
}

/* Adds the words of the spin: a turn may be longer than the trace. */
static void add_words_of(struct mark *m, const struct spin *spin)
{
	for (unsigned i = 0; i < spin->ncounters; i++)
		add_word(m, MARK_WORDS, spin->counter[i]);
	for (unsigned i = 0; i < spin->n; i++)
		add_word(m, MARK_WORDS - WRITTEN, spin->word[i].addr & ~7ull);
}

/* Words that are not what they were at the arrival before come first, then those that are not what they were at
 * first: in a loop, the others are back at the end of each turn. */
static uint32_t rating(const struct word *w)
{
	return w->changes + (w->value != w->first ? 1u << 16 : 0) + (w->value != w->before ? 1u << 17 : 0);
}

static void look_back(uint32_t nchanges)
{
	for (uint32_t n = trace.nchanges; n > nchanges && trace.nchanges - n < CHANGES; n--)
		trace.changes[(n - 1) % CHANGES].word->before = trace.changes[(n - 1) % CHANGES].before;
}

static void choose_words(struct mark *m, const struct visited *v)
{
	if (v && v->count > 1)
		look_back(v->changes_before);
	while (m->nwords < CHANGING) {
		struct word *best = NULL;

		for (unsigned i = 0; i < WORDS; i++)
			if (trace.words[i].trace == trace.number && trace.words[i].changes &&
			    (!best || rating(&trace.words[i]) > rating(best)))
				best = &trace.words[i];
		if (!best)
			break;
		best->changes = 0;
		add_word(m, CHANGING, best->addr);
	}
	for (unsigned i = 1; i <= RECENT && i <= trace.nwritten; i++)
		add_word(m, CHANGING + WRITTEN, trace.written[(trace.nwritten - i) % RECENT]);
	for (unsigned i = 1; i <= RECENT && i <= trace.nread; i++)
		add_word(m, MARK_WORDS, trace.read[(trace.nread - i) % RECENT]);
}

/* The trace was short, since an instruction could not be carried out.  Adds the globals and locals that this
 * instruction and those after it name. */
static void look_ahead(const ucontext_t *uc, struct mark *m)
{
	ucontext_t at = *uc;

	for (unsigned i = 0; i < LOOK_AHEAD; i++) {
		const struct insn *in = fetch(uc_pc(&at));

		if (!in)
			return;
		if (i == 0 ? insn_touches(in) : insn_touches_variable(in))
			add_word(m, MARK_WORDS, decode_address(in, &at) & ~7ull);
		UC_PC(&at) = insn_likely_next(in, uc_pc(&at));
		if (!uc_pc(&at))
			return;
	}
}

static bool can_stop_at(uint64_t pc)
{
	uint64_t starts[4];
	unsigned n;

	if (!trampoline_possible(pc, starts, &n))
		return false;
	for (unsigned i = 0; i < n; i++) { /* each jump to one of these would be a trap */
		struct visited *v = place_at(starts[i]);

		if (v && v->jumped_to)
			return false;
	}
	return true;
}

/* The lowest number of visits among the places met lately. */
static uint32_t coolest(uint32_t since)
{
	uint32_t best = UINT32_MAX;

	for (unsigned i = 0; i < PLACES; i++) {
		const struct visited *v = &trace.places[i];

		if (v->trace == trace.number && v->last >= since && v->count < best && can_stop_at(v->pc))
			best = v->count;
	}
	return best;
}

static void registers_now(const ucontext_t *uc, struct registers *r)
{
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		r->gpr[i] = *uc_general(uc, i);
	for (unsigned i = 0; i < VECTORS; i++)
		r->low[i] = uc_vector_low(uc, i);
}

static void finish(const ucontext_t *uc, struct mark *m, const struct spin *within, const struct visited *v, uint32_t n,
		   bool short_trace)
{
	/* met for the first time: those that changed at all are a fair guess */
	const struct registers *before = v && v->count > 1 ? &v->before : &trace.start;
	struct registers now;

	registers_now(uc, &now);
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		if (before->gpr[i] != now.gpr[i])
			m->varies |= (uint16_t)(1u << i);
	for (unsigned i = 0; i < VECTORS; i++)
		if (before->low[i] != now.low[i] && m->nvectors < MARK_VECTORS)
			m->vector_n[m->nvectors++] = (uint8_t)i;
	m->heat = (uint16_t)(v ? v->count * 1000ull / (n + 1) : 0);
	if (within)
		add_words_of(m, within);
	choose_words(m, v);
	if (short_trace)
		look_ahead(uc, m);
}

/* A mark cannot lie in a repeated string instruction: carries it out to its end. `any`: also one that is not
 * repeated. */
static int leave_string(ucontext_t *uc, bool any)
{
	const struct insn *in = fetch(uc_pc(uc));

	if (in && insn_gathers(in))
		return -EAGAIN;
	if (!in || !in->string || !(any || string_repeats(in)))
		return 0;
	return string_finish(uc, in);
}

int mark_trace(ucontext_t *uc, struct mark *m, const struct mark_wish *wish)
{
	const struct spin *spin = wish->after;
	const bool fresh = wish->fresh;
	unsigned instructions = wish->instructions;
	uint32_t warm = fresh ? 1 : instructions / 6, search = instructions * 2 / 3, n, least = 0;
	const uint64_t begun_ns = thread_ns();
	uint64_t fell_to = 0;
	enum emulation how = EMU_DONE;
	struct visited *v = NULL;
	struct emulated did;
	bool slow = false, late = false, good;
	int rc = leave_string(uc, false);

	if (rc)
		return rc;
	trace.number++;
	trace.nplaces = trace.nwords = trace.nchanges = trace.nwritten = trace.nread = 0;
	registers_now(uc, &trace.start);
	for (n = 0;; n++) {
		uint64_t pc = uc_pc(uc);
		struct registers now;

		v = place_at(pc);
		if (v) {
			v->count++;
			v->last = n;
			v->jumped_to |= pc != fell_to && n;
		}
		if (!late && (slow || n % 64 == 63) &&
		    thread_ns() - begun_ns > (n < warm ? LIMIT_WARM_NS : LIMIT_NS)) { /* the next good place must do */
			late = true;
			search = n < search ? n : search;
			instructions = n + AT_LAST < instructions ? n + AT_LAST : instructions;
		}
		if (n == search && !spin)
			least = coolest(search / 2) + 1; /* + 1: the arrival to come */
		if (n >= instructions)
			break;
		if (spin && n >= warm && !(fresh && v && v->count > 1) && spin_ends(spin))
			break;
		slow = false;
		/* met for the first time, or one of the rarest, or at last any that is possible at all */
		good = n >= warm && v && (v->count == 1 || n + AT_LAST >= instructions);
		if (!spin && (good || (n >= search && v && v->count <= least)) && can_stop_at(pc))
			break;
		registers_now(uc, &now);
		how = emulate(uc, false, &did);
		if (how == EMU_PLAIN && leave_string(uc, true) == 0 && uc_pc(uc) != pc) {
			did.naccess = 0;
			slow = true; /* it may have taken long */
		} else if (how != EMU_DONE) {
			break;
		}
		spin_sites_passed(pc);
		if (v) {
			v->before = now;
			v->changes_before = trace.nchanges;
		}
		fell_to = pc + did.len;
		for (unsigned i = 0; i < did.naccess; i++)
			note(did.access[i].addr, did.access[i].len, did.access[i].write);
	}
	finish(uc, m, wish->within, v, n, how != EMU_DONE && n < SHORT);
	return how == EMU_SYSCALL || how == EMU_GATE ? MARK_EVENT : MARK_TAKEN;
}

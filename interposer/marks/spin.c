#include "marks/spin.h"
#include <string.h>
#include "arch/registers.h"
#include "text/registers.h"
#include "space/upper_memory.h"
#include "arch/context.h"
#include "base/lower.h"
#include "arch/insn.h"
#include "text/emulate.h"
#include "text/fetch.h"
#include "base/crc32c.h"
#include "marks/mark_trace.h"
#include "text/spin_sites.h"

enum { FIRST_LOOK = 16, ALIKE = 3, STORED = 64, LOOKS = 64, PLACES = 32, TURNS_VARY = 6 };

struct word {
	uint64_t addr, value; /* value: before the turn; after it: by how much it has grown */
	uint32_t changes;     /* bool: the value differed at times */
	uint32_t plain;       /* bool: not only stored by atomic instructions */
};

/* From one arrival at a place to the next. */
struct turn {
	uint64_t gpr[GENERAL_REGISTERS]; /* at the end of the turn; then by how much they have grown in it */
	uint64_t low[VECTORS];           /* of the vector registers */
	struct word stored[STORED];
	unsigned nstored, nreads, nchanged, ncounters;
	uint32_t reads; /* checksum of the addresses read */
	unsigned nplaces;
	bool pauses, too_many, more_reads; /* more_reads: more than are in looked_at */
	uint64_t pause;                    /* address of the last pause */
	uint64_t place[PLACES];
};

static struct turn now, last_found;
static bool atomic; /* the current instruction is atomic */
static struct access looked_at[LOOKS];
static unsigned nlooked_at; /* in this turn, each once */
static unsigned turns;
static uint64_t map_known_at;

void spin_know_map(void)
{
	if (map_known_at != lower.event)
		upper_here();
	map_known_at = lower.event;
}

void spin_map_stays(void)
{
	map_known_at += map_known_at + 1 == lower.event;
}

static void add_read(const struct access *a)
{
	for (unsigned i = 0; i < nlooked_at; i++)
		if (looked_at[i].addr == a->addr)
			return;
	if (a->len <= sizeof(uint64_t) && nlooked_at < LOOKS)
		looked_at[nlooked_at++] = *a;
	else
		now.more_reads = true;
}

void spin_begins(struct spin *spin)
{
	for (unsigned i = 0; i < spin->n; i++)
		if (upper_readable(spin->word[i].addr, spin->word[i].len))
			memcpy(&spin->word[i].value, (const void *)spin->word[i].addr, spin->word[i].len);
}

bool spin_ends(const struct spin *spin)
{
	for (unsigned i = 0; i < spin->n; i++)
		if (upper_readable(spin->word[i].addr, spin->word[i].len) &&
		    memcmp(&spin->word[i].value, (const void *)spin->word[i].addr, spin->word[i].len))
			return true;
	return false;
}

bool spin_changes(const struct spin *spin, const struct spin *other)
{
	for (unsigned i = 0; i < spin->nchanged; i++)
		for (unsigned k = 0; k < other->n; k++)
			if (spin->changed[i] == (other->word[k].addr & ~7ull))
				return true;
	return false;
}

static bool is_another(const struct word *w)
{
	return memcmp(&w->value, (const void *)w->addr, sizeof(w->value));
}

static void before_store(uint64_t addr, uint64_t len)
{
	for (uint64_t at = addr & ~7ull; at < addr + len; at += 8) {
		unsigned i = 0;
		while (i < now.nstored && now.stored[i].addr != at)
			i++;
		if (i == now.nstored) {
			now.too_many |= i == STORED || !upper_readable(at, 8);
			if (now.too_many)
				return;
			now.stored[now.nstored].addr = at;
			memcpy(&now.stored[now.nstored++].value, (const void *)at, 8);
		}
		now.stored[i].changes |= is_another(&now.stored[i]);
		now.stored[i].plain |= !atomic;
	}
}

static void registers_of(const ucontext_t *uc, struct turn *t)
{
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++)
		t->gpr[i] = *uc_general(uc, i);
	for (unsigned i = 0; i < VECTORS; i++)
		t->low[i] = uc_vector_low(uc, i);
}

static void begin_turn(const ucontext_t *uc)
{
	memset(&now, 0, offsetof(struct turn, place));
	nlooked_at = 0;
	turns++;
	registers_of(uc, &now);
}

/* Turns t into differences.  False: the turn did some work. */
static bool end_turn(const ucontext_t *uc, struct turn *t)
{
	*t = now;
	registers_of(uc, t);
	bool waits = !memcmp(t->low, now.low, sizeof(t->low)) && !t->too_many;
	for (unsigned i = 0; i < GENERAL_REGISTERS; i++) {
		t->gpr[i] -= now.gpr[i];
		t->ncounters += t->gpr[i] != 0;
	}
	for (unsigned i = 0; i < t->nstored; i++) {
		uint64_t value;
		t->stored[i].changes |= is_another(&t->stored[i]);
		memcpy(&value, (const void *)t->stored[i].addr, 8);
		t->stored[i].value = value - t->stored[i].value;
		t->nchanged += t->stored[i].value != 0;
	}
	return waits && t->ncounters + t->nchanged <= SPIN_COUNTERS && (t->pauses || (t->nreads && !t->nchanged));
}

static bool alike(const struct turn *a, const struct turn *b)
{
	return !memcmp(a->gpr, b->gpr, sizeof(a->gpr)) && a->nstored == b->nstored &&
	       !memcmp(a->stored, b->stored, a->nstored * sizeof(a->stored[0])) && a->nreads == b->nreads &&
	       a->reads == b->reads;
}

static bool step(ucontext_t *uc)
{
	const struct insn *in = fetch(uc_pc(uc));
	struct emulated did;
	if (!in)
		return false;
	const bool pause = insn_pauses(in);
	const uint64_t pc = uc_pc(uc);
	now.pauses |= pause;
	if (pause)
		now.pause = pc;
	if (now.nplaces < PLACES)
		now.place[now.nplaces++] = pc;
	atomic = insn_atomic(in);
	if (emulate(uc, false, &did) != EMU_DONE)
		return false;
	spin_sites_passed(pc);
	for (unsigned i = 0; i < did.naccess; i++)
		if (!did.access[i].write) {
			now.nreads++;
			add_read(&did.access[i]);
			now.reads = crc32c(now.reads, &did.access[i].addr, sizeof(did.access[i].addr));
		}
	return true;
}

/* Is the word the spin's own, since the spin writes to it?  A lock that it tries to take in vain is not: the spin waits
 * for it. */
static bool own(const struct turn *t, uint64_t addr)
{
	for (unsigned i = 0; i < t->nstored; i++)
		if (t->stored[i].addr == (addr & ~7ull))
			return t->stored[i].changes || t->stored[i].plain;
	return false;
}

static void describe(const struct turn *t, struct spin *spin)
{
	spin->n = spin->ncounters = spin->nchanged = 0;
	spin->asks = false;
	spin->counts = t->ncounters || t->nchanged;
	for (unsigned i = 0; i < nlooked_at && spin->n < SPIN_WORDS; i++)
		if (!own(t, looked_at[i].addr)) {
			spin->word[spin->n].addr = looked_at[i].addr;
			spin->word[spin->n++].len = looked_at[i].len;
		}
	for (unsigned i = 0; i < t->nstored; i++) {
		if (t->stored[i].value)
			spin->counter[spin->ncounters++] = t->stored[i].addr;
		if (t->stored[i].changes && spin->nchanged < SPIN_WORDS)
			spin->changed[spin->nchanged++] = t->stored[i].addr;
	}
}

/* Wants three turns alike: the last numbers of a computation may be alike in two by chance.  A loop that counts may be
 * the delay within the loop that looks: when it is left, the loop around it is examined. */
static bool goes_round(ucontext_t *uc, struct spin *spin, unsigned instructions)
{
	static struct turn turn, before;
	unsigned same = 0, look = FIRST_LOOK;
	uint64_t place = uc_pc(uc), low = place, high = place;
	bool found = false, leaves = false;
	begin_turn(uc);
	for (unsigned n = 1; n <= instructions; n++) {
		if (!step(uc))
			return found;
		const uint64_t pc = uc_pc(uc);
		if (leaves && (pc < low || pc > high)) {
			leaves = false;
			same = 0;
			place = pc;
			begin_turn(uc);
		} else if (!leaves && pc == place) {
			if (!end_turn(uc, &turn))
				return found;
			same = same && alike(&turn, &before) ? same + 1 : 1;
			if (same == ALIKE) {
				describe(&turn, spin);
				last_found = turn;
				found = leaves = true;
				if (!turn.ncounters && !turn.nchanged)
					return true;
			}
			before = turn;
			begin_turn(uc);
			if (same == 1)
				low = high = pc;
		}
		low = pc < low ? pc : low;
		high = pc > high ? pc : high;
		if (n == look) { /* the loop may be larger, or only begin here */
			look *= 2;
			if (!same && !found) {
				low = high = place = pc;
				begin_turn(uc);
			}
		}
	}
	return found;
}

static void nothing(struct spin *spin)
{
	spin->n = spin->ncounters = spin->nchanged = 0;
}

bool spin_here(ucontext_t *uc, struct spin *spin, unsigned instructions)
{
	upper_here();
	emulate_before_store = before_store;
	const bool found = goes_round(uc, spin, instructions);
	emulate_before_store = NULL;
	if (!found)
		nothing(spin);
	return found;
}

static bool goes_to(ucontext_t *uc, uint64_t place, unsigned instructions)
{
	bool there = false;
	emulate_before_store = before_store;
	for (unsigned n = 0; !there && n < instructions && step(uc); n++)
		there = uc_pc(uc) == place;
	emulate_before_store = NULL;
	return there;
}

/* May others than the program end the spin at any time?  A replay has their stores at events only, and not the same
 * turns. */
static bool contested(void)
{
	for (unsigned i = 0; mark_contested && i < nlooked_at; i++)
		if (mark_contested(looked_at[i].addr, looked_at[i].addr + looked_at[i].len))
			return true;
	return false;
}

static bool waits(const ucontext_t *uc, struct spin *spin)
{
	static struct turn turn;
	const bool found = end_turn(uc, &turn);
	if (found)
		describe(&turn, spin);
	if (found && (turn.more_reads || spin->n == SPIN_WORDS))
		spin->n = 0; /* it may wait for something else */
	return found;
}

bool spin_turn(ucontext_t *uc, struct spin *spin, unsigned instructions)
{
	begin_turn(uc);
	if (goes_to(uc, uc_pc(uc), instructions) && waits(uc, spin) && !contested())
		return true;
	nothing(spin);
	return false;
}

unsigned spin_asks(const ucontext_t *uc)
{
	begin_turn(uc);
	now.pauses = true; /* a thread that asks in vain pauses */
	return turns;
}

/* Is it still this turn, and what it has stored to still mapped?  One of its events may have unmapped it. */
static bool goes_on(unsigned turn)
{
	bool there = turn == turns;
	spin_know_map();
	for (unsigned i = 0; there && i < now.nstored; i++)
		there = upper_readable(now.stored[i].addr, sizeof(now.stored[i].value));
	return there;
}

bool spin_asks_more(unsigned turn, ucontext_t *uc, uint64_t place)
{
	return goes_on(turn) && goes_to(uc, place, SPIN_ASKS);
}

bool spin_asks_again(unsigned turn, const ucontext_t *uc, struct spin *spin)
{
	spin->asks = goes_on(turn) && waits(uc, spin);
	if (!spin->asks)
		nothing(spin);
	return spin->asks;
}

static bool once(const struct turn *t, uint64_t pc)
{
	unsigned n = 0;
	for (unsigned i = 0; i < t->nplaces; i++)
		n += t->place[i] == pc;
	return n == 1;
}

/* The pause comes first, then places late in the turn, after its looks. */
uint64_t spin_place(unsigned i, unsigned *instructions)
{
	const struct turn *t = &last_found;
	*instructions = TURNS_VARY * t->nplaces;
	if (t->nplaces == PLACES)
		return 0;
	if (once(t, t->pause) && !i--)
		return t->pause;
	for (unsigned k = t->nplaces; k--;)
		if (once(t, t->place[k]) && !i--)
			return t->place[k];
	return 0;
}

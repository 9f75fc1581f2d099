#include "text/spin_sites.h"
#include <string.h>
#include <sys/mman.h>
#include "arch/registers.h"
#include "base/lower.h"
#include "interface/gate.h"
#include "space/arena.h"
#include "space/patches.h"
#include "text/fetch.h"
#include "text/registers.h"
#include "arch/trampoline_code.h"

enum {
	SPINS = 32,
	CHANCES = 96,
	SITES = SPINS + CHANCES,
	AREAS = 3,
	AREA = RDB_COUNTER_STUBS_BYTES,
	DATA = 64,
	DATA_PAGES = 2,
	ROOM = 448,
	BEFORE = 8,
	IN_VAIN = 10, /* log2 of the most arrivals that pass before the next look */
	FAULTS = 8
};
static const int64_t UNKNOWN = 1ll << 60;

/* As in counter_sites.c: each within 2 GB of the addresses from low to high. */
static const struct {
	uint64_t low, high, stubs;
} areas[AREAS] = {
	{0x200000, 0x70000000, RDB_SPIN_STUBS_LOW},
	{RDB_PROG, RDB_COUNTER_STUBS_PROG, RDB_SPIN_STUBS_PROG},
	{RDB_STUBS, RDB_MMAP_END, RDB_SPIN_STUBS},
};

struct spin_site {
	bool gone;     /* the text or the patch is gone; the stub stays */
	unsigned turn; /* as in spin_site_add() */
	uint8_t own[PATCH];
	uint64_t entry;
	unsigned in_vain, faults;
	struct trampoline_data *data;
	struct plan plan;
	struct code code;
};

static struct spin_site sites[SITES];
static bool mapped[AREAS];
static unsigned chances;
unsigned spin_sites_count;

_Static_assert(sizeof(struct trampoline_data) <= DATA && SITES * DATA <= DATA_PAGES * RDB_PAGE, "the data's pages");
_Static_assert(AREA % (DATA_PAGES * RDB_PAGE) == 0, "the number of a site is in the address of its data");

static uint64_t area_of(uint64_t at)
{
	for (int i = 0; i < AREAS; i++) {
		if (at < areas[i].low || at >= areas[i].high)
			continue;
		if (!mapped[i])
			mapped[i] = mmap((void *)areas[i].stubs, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
					 0) == (void *)areas[i].stubs;
		return mapped[i] ? areas[i].stubs : 0;
	}
	return 0;
}

static bool is_free(uint64_t entry)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (entry - BEFORE < sites[i].entry + ROOM && sites[i].entry - BEFORE < entry + ROOM)
			return false;
	return true;
}

/* The lowest distance from `rel` on at which the byte that `shift` selects faults as an instruction. */
static int64_t distance_that_faults(int64_t rel, unsigned shift)
{
	while (!trampoline_byte_faults((uint8_t)(rel >> shift)))
		rel = ((rel >> shift) + 1) * ((int64_t)1 << shift);
	return rel;
}

/* Chooses an entry such that the bytes of the jump's distance fault as instructions wherever a displaced one began; 0:
 * none. */
static uint64_t entry_for(const struct plan *p, uint64_t area)
{
	const uint64_t from = p->pc + PATCH;
	uint64_t e = area + DATA_PAGES * RDB_PAGE + BEFORE, before;
	e = e > p->low ? e : p->low;
	while (e + ROOM < area + AREA && e <= p->high && (int64_t)(e - from) == (int32_t)(e - from)) {
		before = e;
		for (unsigned k = 1; k < p->n; k++)
			e = from +
			    (uint64_t)distance_that_faults((int64_t)(e - from), 8 * (unsigned)(p->from[k] - p->pc - 1));
		if (e == before && is_free(e))
			return e;
		e += e == before;
	}
	return 0;
}

/* Is the text written neither by us nor by the program? */
static bool nobody_writes(uint64_t pc)
{
	struct mapping m;
	return arena_mapping_at(pc, &m) && arena_mapping_at(pc + PATCH - 1, &m) && !m.anonymous && !m.shared &&
	       m.prot == (PROT_READ | PROT_EXEC);
}

/* True if the program often jumps into the middle of a patch there. */
static bool jumped_into(uint64_t pc)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (sites[i].plan.pc == pc && sites[i].faults == FAULTS)
			return true;
	return false;
}

static bool plan_stub(struct spin_site *s, uint64_t pc)
{
	uint8_t hidden[PATCH];
	uint64_t area = 0;
	if (nobody_writes(pc) && !plan_make(pc, &s->plan))
		area = area_of(pc);
	/* if another patch is there, plan_make() saw the bytes below it */
	memcpy(hidden, (const void *)pc, PATCH);
	for (unsigned i = 0, at = 0; area && i < s->plan.n; at += s->plan.in[i++].len)
		for (unsigned k = 0; k < s->plan.in[i].len && at + k < PATCH; k++)
			area = hidden[at + k] == s->plan.in[i].bytes[k] ? area : 0;
	s->entry = area ? entry_for(&s->plan, area) : 0;
	s->data = (struct trampoline_data *)(area + (size_t)(s - sites) * DATA);
	for (unsigned i = 0; i < s->plan.n; i++)
		/* a syscall is recognised by its address */
		if (s->plan.in[i].map == MAP_0F && s->plan.in[i].op == 0x05)
			s->entry = 0;
	return s->entry;
}

static void write_stub(struct spin_site *s)
{
	uint8_t *entry = (uint8_t *)s->entry, *near = entry - 5, *slow;
	struct code *c = &s->code;
	*s->data = (struct trampoline_data){.event = lower.event, .left = UNKNOWN};
	*c = (struct code){.start = near, .at = entry, .end = entry + ROOM, .data = s->data};
	code_begin(c);
	code_count_since(c, &lower.event);
	code_unless_quiet(c, near);
	code_restore(c, UNCOUNT);
	code_displaced(c, &s->plan, UNCOUNT);
	slow = c->at;
	c->at = near; /* within reach of jrcxz */
	code_jump(c, slow, UNCOUNT);
	c->at = slow;
	code_leave(c, RDB_GATE + offsetof(struct rdb_gate, spin));
}

/* Is its patch still there? */
static bool stands(struct spin_site *s)
{
	s->gone |= !patch_in(PATCH_SPIN, s->plan.pc, PATCH);
	return !s->gone;
}

static struct spin_site *site_at(uint64_t pc)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (sites[i].plan.pc == pc && stands(&sites[i]))
			return &sites[i];
	return NULL;
}

bool spin_site_at(uint64_t pc)
{
	return site_at(pc);
}

unsigned spin_site_turn(const struct spin_site *s)
{
	return s->turn;
}

bool spin_site_add(uint64_t pc, unsigned turn)
{
	struct spin_site *s = &sites[spin_sites_count];
	uint8_t jump[PATCH] = {0xe9};
	if (turn ? spin_sites_count - chances == SPINS : chances == CHANCES)
		return false;
	*s = (struct spin_site){.turn = turn};
	if (jumped_into(pc) || !plan_stub(s, pc))
		return false;
	write_stub(s);
	const int32_t rel = (int32_t)(s->entry - (pc + PATCH));
	memcpy(s->own, (const void *)pc, PATCH);
	memcpy(jump + 1, &rel, sizeof(rel));
	if (s->code.failed || !patches_write(pc, jump, PATCH))
		return false;
	patch_add(PATCH_SPIN, pc, PATCH, s->own, jump);
	spin_sites_count++;
	chances += !turn;
	return true;
}

/* ---- arrivals ---- */

/* Number of times that the instruction was carried out since the last event. */
static int64_t *carried_out(struct spin_site *s)
{
	if (s->data->event != lower.event)
		s->data->left = 0;
	s->data->event = lower.event;
	return &s->data->left;
}

struct spin_site *spin_site_arrived(ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;
	struct trampoline_data *d = (struct trampoline_data *)g[REG_RCX];
	struct spin_site *s = &sites[((uint64_t)d % (DATA_PAGES * RDB_PAGE)) / DATA];
	g[REG_RAX] = (greg_t)d->rax;
	g[REG_RCX] = (greg_t)d->rcx;
	g[REG_RIP] = (greg_t)s->plan.pc;
	d->left--; /* the stub has counted this arrival already */
	d->quiet = 1;
	return s;
}

uint64_t spin_site_arrivals(struct spin_site *s)
{
	const int64_t n = *carried_out(s);
	return n < UNKNOWN ? (uint64_t)n + 1 : 0;
}

void spin_site_leads_on(struct spin_site *s, ucontext_t *uc)
{
	if (uc_pc(uc) != s->plan.pc || !stands(s)) {
		spin_sites_enter(uc);
		return;
	}
	++*carried_out(s);
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)s->plan.copy[0];
}

void spin_site_of_use(struct spin_site *s, bool waits)
{
	s->in_vain = waits ? 0 : s->in_vain + (s->in_vain < IN_VAIN);
	s->data->skip = (1u << s->in_vain) - 1;
	s->data->quiet = 0;
}

void spin_sites_wake(void)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		__atomic_store_n(&sites[i].data->quiet, 0, __ATOMIC_RELAXED);
}

void spin_sites_passed(uint64_t pc)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (sites[i].plan.pc == pc)
			++*carried_out(&sites[i]);
}

/* ---- contexts inside a stub ---- */

void spin_sites_leave(ucontext_t *uc)
{
	const uint64_t pc = uc_pc(uc);
	for (unsigned i = 0; spin_stubs_inside(pc) && i < spin_sites_count; i++)
		if (pc >= sites[i].entry - BEFORE && pc < sites[i].entry + ROOM &&
		    code_left(&sites[i].code, &sites[i].plan, uc))
			return;
}

static bool enter(struct spin_site *s, ucontext_t *uc)
{
	for (unsigned k = 1; k < s->plan.n; k++)
		if (s->plan.from[k] == uc_pc(uc) && uc_pc(uc) < s->plan.pc + PATCH && stands(s)) {
			uc->uc_mcontext.gregs[REG_RIP] = (greg_t)s->plan.copy[k];
			return true;
		}
	return false;
}

void spin_sites_enter(ucontext_t *uc)
{
	unsigned i = 0;
	while (i < spin_sites_count && !enter(&sites[i], uc))
		i++;
}

static void lift(struct spin_site *s)
{
	if (!patches_write(s->plan.pc, s->own, PATCH))
		rdb_fatal("the program's own instructions at %#lx cannot be restored", (unsigned long)s->plan.pc);
	patch_drop(PATCH_SPIN, s->plan.pc);
	s->gone = true;
}

bool spin_sites_fault(ucontext_t *uc)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (enter(&sites[i], uc)) {
			if (++sites[i].faults == FAULTS)
				lift(&sites[i]);
			return true;
		}
	return false;
}

/* ---- removing all sites ---- */

void spin_sites_lift(void)
{
	for (unsigned i = 0; i < spin_sites_count; i++)
		if (stands(&sites[i]))
			lift(&sites[i]);
}

void spin_sites_settle(void)
{
	spin_sites_lift();
	spin_sites_count = chances = 0;
	for (unsigned i = 0; i < AREAS; i++) {
		if (mapped[i])
			munmap((void *)areas[i].stubs, AREA);
		mapped[i] = false;
	}
}

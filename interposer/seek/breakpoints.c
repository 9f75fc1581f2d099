#include "seek/breakpoints.h"
#include <errno.h>
#include <string.h>
#include "arch/registers.h"
#include "interface/agent.h"
#include "seek/bytecode.h"
#include "seek/text_guard.h"
#include "space/patches.h"
#include "space/upper_memory.h"
#include "seek/trampoline.h"

#define PLACES 4096 /* a power of two: slots of an open-addressing table */
#define ENTRIES 2048
#define CONDITION 1024

struct entry {
	uint64_t id; /* 0: free */
	uint64_t addr;
	uint64_t flags;
	uint64_t total; /* arrivals since set */
	uint64_t since_event, event;
	uint16_t next; /* same place; index into entries, 0: end */
	uint16_t condition_len;
};

static struct place places[PLACES];
static struct entry entries[ENTRIES]; /* [0] is not used */
static uint8_t conditions[ENTRIES][CONDITION];
static uint64_t target_addr;
static uint64_t mark_addr;
static unsigned nplaces;
#define each_place(p) \
	for (unsigned i_ = 0, left_ = nplaces; left_; i_++) \
		for (struct place *p = places[i_].used && left_-- ? &places[i_] : NULL; p; p = NULL)

static unsigned slot_of(uint64_t addr)
{
	return (unsigned)((addr * 0x9e3779b97f4a7c15ull) >> 52) % PLACES;
}

struct place *breakpoints_at(uint64_t addr)
{
	if (!nplaces)
		return NULL;
	for (unsigned i = slot_of(addr);; i = (i + 1) % PLACES) {
		if (!places[i].used)
			return NULL;
		if (places[i].addr == addr)
			return &places[i];
	}
}

static struct place *take_place(uint64_t addr)
{
	struct place *p = breakpoints_at(addr);
	unsigned i = slot_of(addr);

	if (p) {
		p->used++;
		return p;
	}
	if (nplaces >= PLACES / 2)
		return NULL;
	while (places[i].used)
		i = (i + 1) % PLACES;
	nplaces++;
	places[i] = (struct place){.addr = addr, .used = 1};
	return &places[i];
}

static void drop_place(struct place *p)
{
	unsigned hole, i;

	if (--p->used)
		return;
	breakpoint_remove(p);
	nplaces--;
	/* close the hole, so that searches need no tombstones (Knuth, 6.4, algorithm R) */
	hole = (unsigned)(p - places);
	for (i = (hole + 1) % PLACES; places[i].used; i = (i + 1) % PLACES) {
		unsigned home = slot_of(places[i].addr);

		if ((i - home) % PLACES < (i - hole) % PLACES)
			continue;
		places[hole] = places[i];
		hole = i;
	}
	places[hole] = (struct place){0};
}

static struct entry *by_id(uint64_t id)
{
	for (unsigned i = 1; i < ENTRIES; i++)
		if (entries[i].id == id)
			return &entries[i];
	return NULL;
}

int breakpoints_set(uint64_t id, uint64_t addr, uint64_t flags, const void *condition, size_t len)
{
	struct entry *e;
	struct place *p;
	uint16_t n;

	if (id == 0 || id == AGENT_FOREVER)
		return -EINVAL;
	if (len > CONDITION)
		return -E2BIG;
	if (by_id(id))
		return -EEXIST;
	for (e = &entries[1]; e < entries + ENTRIES && e->id; e++)
		;
	if (e == entries + ENTRIES)
		return -ENOSPC;
	p = take_place(addr);
	if (!p)
		return -ENOSPC;
	n = (uint16_t)(e - entries);
	*e = (struct entry){.id = id, .addr = addr, .flags = flags, .next = p->first, .condition_len = (uint16_t)len};
	memcpy(conditions[n], condition, len);
	p->first = n;
	return 0;
}

int breakpoints_clear(uint64_t id)
{
	struct entry *e = id ? by_id(id) : NULL;
	struct place *p;
	uint16_t *link, n;

	if (!e)
		return -ENOENT;
	n = (uint16_t)(e - entries);
	p = breakpoints_at(e->addr);
	for (link = &p->first; *link != n; link = &entries[*link].next)
		;
	*link = e->next;
	e->id = 0;
	drop_place(p);
	return 0;
}

void breakpoints_clear_all(void)
{
	for (unsigned i = 1; i < ENTRIES; i++)
		if (entries[i].id)
			breakpoints_clear(entries[i].id);
	breakpoints_target(0);
}

int breakpoints_count(uint64_t id, uint64_t event, uint64_t counts[2])
{
	const struct entry *e = id ? by_id(id) : NULL;

	if (!e)
		return -ENOENT;
	counts[0] = e->total;
	counts[1] = e->event == event ? e->since_event : 0;
	return 0;
}

/* Moves one of our own places (target, mark) to ADDR; 0: nowhere. */
static int move(uint64_t *own, uint64_t addr)
{
	struct place *p = *own ? breakpoints_at(*own) : NULL;

	if (*own == addr)
		return 0;
	*own = 0;
	if (p)
		drop_place(p);
	if (!addr)
		return 0;
	if (!take_place(addr))
		return -ENOSPC;
	*own = addr;
	return 0;
}

int breakpoints_target(uint64_t addr)
{
	return move(&target_addr, addr);
}

int breakpoints_mark(uint64_t addr)
{
	return move(&mark_addr, addr);
}

uint64_t breakpoints_arrived(struct place *p, uint64_t event, uint64_t run, uint64_t count)
{
	if (p->hits_event != event || p->hits_run != run) {
		p->hits = 0;
		p->hits_event = event;
		p->hits_run = run;
	}
	for (unsigned n = p->first; n; n = entries[n].next) {
		struct entry *e = &entries[n];

		if (e->event != event) {
			e->event = event;
			e->since_event = 0;
		}
		e->since_event += count;
		e->total += count;
	}
	return p->hits += count;
}

bool breakpoints_only_count(const struct place *p, bool scan)
{
	for (unsigned n = p->first; n; n = entries[n].next)
		if ((entries[n].flags & AGENT_BP_STOP) && (!scan || entries[n].condition_len))
			return false;
	return true;
}

uint64_t breakpoints_stopping(const struct place *p, const ucontext_t *uc)
{
	uint64_t id = 0;

	/* the chain is newest first; of several ids the oldest is reported */
	for (unsigned n = p->first; n; n = entries[n].next) {
		const struct entry *e = &entries[n];

		if ((e->flags & AGENT_BP_STOP) &&
		    (!e->condition_len || bytecode_holds(conditions[n], e->condition_len, uc)))
			id = e->id;
	}
	return id;
}

void breakpoint_insert(struct place *p)
{
	static const uint8_t breakpoint = BREAKPOINT;
	uint8_t own;

	if (p->inserted)
		return;
	p->carried = trampoline_carries(p->addr);
	if (p->carried) {
		p->inserted = true;
		return;
	}
	p->guarded = text_guard_close(p->addr, 1);
	if (upper_read(p->addr, &own, 1) != 1)
		return;
	p->inserted = upper_write(p->addr, &breakpoint, 1) == 1;
	if (p->inserted)
		patch_add(PATCH_BREAKPOINT, p->addr, 1, &own, &breakpoint);
}

void breakpoint_remove(struct place *p)
{
	const struct patch *patch = patch_in(PATCH_BREAKPOINT, p->addr, 1);
	uint8_t now;

	if (!p->inserted)
		return;
	p->inserted = false;
	if (p->carried || p->lifted) {
		p->lifted = false;
		return;
	}
	/* the program may have unmapped or overwritten it */
	if (patch && upper_read(p->addr, &now, 1) == 1 && now == BREAKPOINT)
		upper_write(p->addr, patch->own, 1);
	patch_drop(PATCH_BREAKPOINT, p->addr);
}

void breakpoints_insert(void)
{
	each_place(p)
		breakpoint_insert(p);
}

void breakpoints_remove(void)
{
	each_place(p)
		breakpoint_remove(p);
}

void breakpoints_forget(uint64_t start, uint64_t end)
{
	each_place(p) {
		if (p->addr < start || p->addr >= end)
			continue;
		p->inserted = p->lifted = false;
		patch_drop(PATCH_BREAKPOINT, p->addr);
	}
}

void breakpoints_lift(uint64_t start, uint64_t end)
{
	each_place(p) {
		if (!p->inserted || p->lifted || p->carried || (!p->guarded && (p->addr < start || p->addr >= end)))
			continue;
		breakpoint_remove(p);
		p->inserted = p->lifted = true;
	}
}

void breakpoints_lower(void)
{
	each_place(p) {
		if (!p->lifted)
			continue;
		p->inserted = p->lifted = false;
		breakpoint_insert(p);
	}
}

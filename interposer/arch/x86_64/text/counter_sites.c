#include "arch/x86_64/text/counter_sites.h"
#include <string.h>
#include <sys/mman.h>
#include "interface/gate.h"
#include "arch/insn.h"
#include "arch/trampoline_code.h"

enum {
	SITES = 1024,
	STUB = 64,
	ENTRY = 2, /* offset of the entry, behind the trap */
	TAIL = 22, /* offset of the copy of the instruction after the rdtsc */
	RDTSC = 2, /* length of rdtsc */
	JUMP = 5,
	AREA = RDB_COUNTER_STUBS_BYTES,
	AREAS = 3,
};

/* Areas for stubs: each within 2 GB of the addresses from low to high, in a range that the program does not use. */
static const struct {
	uint64_t low, high, stubs;
} areas[AREAS] = {
	{0x200000, 0x70000000, RDB_COUNTER_STUBS_LOW}, /* a program that is linked there; MAP_32BIT ends below */
	{RDB_PROG, RDB_COUNTER_STUBS_PROG, RDB_COUNTER_STUBS_PROG},
	{RDB_STUBS, RDB_MMAP_END, RDB_COUNTER_STUBS},
};

struct site {
	uint64_t at;
	uint8_t own[JUMP], jump[JUMP];
	uint8_t len;         /* length of both */
	uint64_t stub, next; /* next: address after the displaced instruction; stub 0: no stub, but an instruction that
			      * traps */
	bool put;
};

static struct {
	struct site site[SITES];
	uint8_t *stubs[AREAS];
	uint8_t taken[AREAS][AREA / STUB];
} tsc;

static int area_of(uint64_t at)
{
	for (int i = 0; i < AREAS; i++) {
		if (at < areas[i].low || at >= areas[i].high)
			continue;
		if (tsc.stubs[i])
			return i;
		void *p = mmap((void *)areas[i].stubs, AREA, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
		if (p != (void *)areas[i].stubs)
			return -1;
		tsc.stubs[i] = p;
		return i;
	}
	return -1;
}

/* Takes a free stub such that the second byte of the jump's distance faults as an instruction.  NULL: none. */
static uint8_t *stub_for(uint64_t at)
{
	int area = area_of(at);
	for (unsigned i = 0; area >= 0 && i < AREA / STUB; i++) {
		int64_t rel = (int64_t)((uint64_t)tsc.stubs[area] + i * STUB + ENTRY - (at + JUMP));
		if (tsc.taken[area][i] || rel != (int32_t)rel || !trampoline_byte_undefined((uint8_t)(rel >> 8)))
			continue;
		tsc.taken[area][i] = 1;
		return tsc.stubs[area] + (size_t)i * STUB;
	}
	return NULL;
}

static void write_text(uint64_t at, const void *bytes, size_t len)
{
	if (!patches_write(at, bytes, len))
		rdb_fatal("cannot patch an instruction at %#lx", (unsigned long)at);
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return to + len;
}

static uint8_t *put_distance(uint8_t *to, int64_t rel)
{
	int32_t rel32 = (int32_t)rel;
	return put(to, &rel32, sizeof(rel32));
}

static void make_stub(const struct site *s, const struct insn *behind)
{
	const uint64_t gate = RDB_GATE;
	uint8_t bytes[STUB], *p = bytes;
	p = put(p, "\x0f\x0b", 2);     /* ud2 */
	p = put(p, "\x48\x8d\x15", 3); /* lea TAIL(%rip), %rdx */
	p = put_distance(p, TAIL - (p - bytes + 4));
	p = put(p, "\x48\xb8", 2); /* movabs $RDB_GATE, %rax */
	p = put(p, &gate, sizeof(gate));
	p = put(p, "\xff\x60", 2); /* jmp *offset(%rax) */
	*p++ = offsetof(struct rdb_gate, counter);
	p = put(p, behind->bytes, behind->len);
	*p++ = 0xe9;
	p = put_distance(p, (int64_t)(s->next - (s->stub + (uint64_t)(p - bytes) + 4)));
	write_text(s->stub, bytes, (size_t)(p - bytes));
}

static struct site *find(uint64_t at)
{
	for (unsigned i = 0; i < counter_sites_count; i++)
		if (tsc.site[i].at == at)
			return &tsc.site[i];
	return NULL;
}

/* Can a jump replace this rdtsc and the instruction after it? */
static bool makes_room(const uint8_t *site, const uint8_t *end, struct insn *behind)
{
	return site[1] == 0x31 && site[RDTSC] != 0x0f && !decode(site + RDTSC, (size_t)(end - site - RDTSC), behind) &&
	       !behind->jumps && !behind->rip_relative && !behind->string && RDTSC + behind->len >= JUMP;
}

/* Called when the memory there was unmapped or replaced. */
static void gone(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < counter_sites_count;) {
		const struct site *s = &tsc.site[i];
		if (s->at + s->len <= start || s->at >= end) {
			i++;
			continue;
		}
		for (unsigned a = 0; a < AREAS; a++)
			if (s->stub && tsc.stubs[a] && s->stub - (uint64_t)tsc.stubs[a] < AREA)
				tsc.taken[a][(s->stub - (uint64_t)tsc.stubs[a]) / STUB] = 0;
		tsc.site[i] = tsc.site[--counter_sites_count];
	}
}

bool counter_site_add(uint8_t *site, const uint8_t *end)
{
	struct insn behind;
	struct site s = {.at = (uint64_t)site};
	if (find(s.at))
		return true;
	if (counter_sites_count == SITES)
		return false;
	const uint8_t *stub = makes_room(site, end, &behind) ? stub_for(s.at) : NULL;
	s.len = stub ? JUMP : RDTSC; /* another site may follow directly */
	memcpy(s.own, site, s.len);
	if (stub) {
		s.stub = (uint64_t)stub;
		s.next = s.at + RDTSC + behind.len;
		s.jump[0] = 0xe9;
		put_distance(s.jump + 1, (int64_t)(s.stub + ENTRY - (s.at + JUMP)));
		make_stub(&s, &behind);
	} else {
		memcpy(s.jump, "\x0f\x0b", RDTSC); /* ud2; the third byte of rdtscp is never reached */
	}
	tsc.site[counter_sites_count++] = s;
	patches_at_gone = gone;
	return true;
}

void counter_sites_put(void)
{
	for (unsigned i = 0; i < counter_sites_count; i++) {
		struct site *s = &tsc.site[i];
		if (s->put)
			continue;
		patch_add(PATCH_COUNTER, s->at, s->len, s->own, s->jump);
		write_text(s->at, s->jump, s->len);
		s->put = true;
	}
}

void counter_sites_lift(void)
{
	for (unsigned i = 0; i < counter_sites_count; i++) {
		struct site *s = &tsc.site[i];
		if (!s->put)
			continue;
		write_text(s->at, s->own, s->len);
		patch_drop(PATCH_COUNTER, s->at);
		s->put = false;
	}
}

void counter_sites_settle(void)
{
	counter_sites_lift();
	for (unsigned i = 0; i < AREAS; i++)
		if (tsc.stubs[i])
			munmap(tsc.stubs[i], AREA);
}

bool counter_site_has_aux(uint64_t at)
{
	const struct site *s = find(at);
	return s && s->own[1] == 0x01;
}

uint64_t counter_stub_of(uint64_t tail)
{
	return tail - TAIL;
}

uint64_t counter_site_asks(uint64_t pc)
{
	const struct site *s = find(pc);
	if (s && s->put && !s->stub)
		return pc;
	for (unsigned i = 0; counter_stubs_inside(pc) && i < counter_sites_count; i++)
		if (tsc.site[i].stub == pc)
			return tsc.site[i].at;
	return 0;
}

bool counter_stub_enter(ucontext_t *uc)
{
	const struct site *s = find((uint64_t)uc->uc_mcontext.gregs[REG_RIP] - RDTSC);
	if (!s || !s->put || !s->stub)
		return false;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(s->stub + TAIL);
	return true;
}

void counter_stub_leave(ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP], stub = pc & -(uint64_t)STUB;
	for (unsigned i = 0; counter_stubs_inside(pc) && i < counter_sites_count; i++) {
		const struct site *s = &tsc.site[i];
		if (s->stub == stub && pc >= stub + TAIL)
			uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(pc == stub + TAIL ? s->at + RDTSC : s->next);
	}
}

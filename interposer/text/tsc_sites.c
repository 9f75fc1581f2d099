#include "text/tsc_sites.h"
#include <string.h>
#include <sys/mman.h>
#include "crossing/gate.h"
#include "text/decode.h"

enum {
	SITES = 1024,
	STUB = 64,
	ENTRY = 2, /* behind the trap */
	TAIL = 22, /* the copy of what comes behind the rdtsc */
	RDTSC = 2, /* bytes */
	JUMP = 5,
	AREA = RDB_TSC_STUBS_BYTES,
	AREAS = 3,
};

/* Within 2 GB of what is mapped there, where the program has nothing. */
static const struct {
	uint64_t low, high, stubs;
} areas[AREAS] = {
	{0x200000, 0x70000000, RDB_TSC_STUBS_LOW}, /* a program that is linked there; MAP_32BIT ends below */
	{RDB_PROG, RDB_TSC_STUBS_PROG, RDB_TSC_STUBS_PROG},
	{RDB_STUBS, RDB_MMAP_END, RDB_TSC_STUBS},
};

struct site {
	uint64_t at;
	uint8_t own[JUMP], jump[JUMP];
	uint64_t stub, next; /* next: behind the displaced instruction; 0: no stub, an instruction that traps */
	bool put;
};

static struct {
	struct site site[SITES];
	uint8_t *stubs[AREAS];
	uint8_t taken[AREAS][AREA / STUB];
} tsc;

/* Not instructions in 64-bit mode: #UD (Intel SDM vol. 2, appendix A, superscript i64). */
static bool faults(uint8_t byte)
{
	static const uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f,
					  0x37, 0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd6};
	return memchr(invalid, byte, sizeof(invalid)) != NULL;
}

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

/* A free stub to which the jump's second byte of distance faults as an instruction. */
static uint8_t *stub_for(uint64_t at)
{
	int area = area_of(at);
	for (unsigned i = 0; area >= 0 && i < AREA / STUB; i++) {
		int64_t rel = (int64_t)((uint64_t)tsc.stubs[area] + i * STUB + ENTRY - (at + JUMP));
		if (tsc.taken[area][i] || rel != (int32_t)rel || !faults((uint8_t)(rel >> 8)))
			continue;
		tsc.taken[area][i] = 1;
		return tsc.stubs[area] + (size_t)i * STUB;
	}
	return NULL;
}

static void write_text(uint64_t at, const void *bytes, size_t len)
{
	uint64_t page = at & ~(RDB_PAGE - 1);
	size_t span = at + len - page;
	if (mprotect((void *)page, span, PROT_READ | PROT_WRITE | PROT_EXEC))
		rdb_fatal("cannot patch an instruction at %#lx", (unsigned long)at);
	memcpy((void *)at, bytes, len);
	if (mprotect((void *)page, span, PROT_READ | PROT_EXEC))
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
	*p++ = offsetof(struct rdb_gate, tsc);
	p = put(p, behind->bytes, behind->len);
	*p++ = 0xe9;
	p = put_distance(p, (int64_t)(s->next - (s->stub + (uint64_t)(p - bytes) + 4)));
	write_text(s->stub, bytes, (size_t)(p - bytes));
}

static struct site *find(uint64_t at)
{
	for (unsigned i = 0; i < tsc_sites_count; i++)
		if (tsc.site[i].at == at)
			return &tsc.site[i];
	return NULL;
}

/* A jump takes the place of this rdtsc and of the instruction behind it. */
static bool makes_room(const uint8_t *site, const uint8_t *end, struct insn *behind)
{
	return site[1] == 0x31 && site[RDTSC] != 0x0f && !decode(site + RDTSC, (size_t)(end - site - RDTSC), behind) &&
	       !behind->jumps && !behind->rip_relative && !behind->string && RDTSC + behind->len >= JUMP;
}

/* What was mapped there is there no more. */
static void gone(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < tsc_sites_count;) {
		const struct site *s = &tsc.site[i];
		if (s->at + JUMP <= start || s->at >= end) {
			i++;
			continue;
		}
		for (unsigned a = 0; a < AREAS; a++)
			if (s->stub && tsc.stubs[a] && s->stub - (uint64_t)tsc.stubs[a] < AREA)
				tsc.taken[a][(s->stub - (uint64_t)tsc.stubs[a]) / STUB] = 0;
		tsc.site[i] = tsc.site[--tsc_sites_count];
	}
}

bool tsc_site_add(uint8_t *site, const uint8_t *end)
{
	struct insn behind;
	struct site s = {.at = (uint64_t)site};
	if (find(s.at))
		return true;
	if (tsc_sites_count == SITES || end - site < JUMP)
		return false;
	const uint8_t *stub = makes_room(site, end, &behind) ? stub_for(s.at) : NULL;
	memcpy(s.own, site, JUMP);
	if (stub) {
		s.stub = (uint64_t)stub;
		s.next = s.at + RDTSC + behind.len;
		s.jump[0] = 0xe9;
		put_distance(s.jump + 1, (int64_t)(s.stub + ENTRY - (s.at + JUMP)));
		make_stub(&s, &behind);
	} else {
		memcpy(s.jump, s.own, JUMP);
		s.jump[1] = 0x0b; /* ud2; of rdtscp's third byte nobody takes notice */
	}
	tsc.site[tsc_sites_count++] = s;
	patches_at_gone = gone;
	return true;
}

void tsc_sites_put(void)
{
	for (unsigned i = 0; i < tsc_sites_count; i++) {
		struct site *s = &tsc.site[i];
		if (s->put)
			continue;
		patch_add(PATCH_TSC, s->at, JUMP, s->own, s->jump);
		write_text(s->at, s->jump, JUMP);
		s->put = true;
	}
}

void tsc_sites_lift(void)
{
	for (unsigned i = 0; i < tsc_sites_count; i++) {
		struct site *s = &tsc.site[i];
		if (!s->put)
			continue;
		write_text(s->at, s->own, JUMP);
		patch_drop(PATCH_TSC, s->at);
		s->put = false;
	}
}

void tsc_sites_settle(void)
{
	tsc_sites_lift();
	for (unsigned i = 0; i < AREAS; i++)
		if (tsc.stubs[i])
			munmap(tsc.stubs[i], AREA);
}

bool tsc_site_has_aux(uint64_t at)
{
	const struct site *s = find(at);
	return s && s->own[1] == 0x01;
}

uint64_t tsc_stub_of(uint64_t tail)
{
	return tail - TAIL;
}

uint64_t tsc_site_asks(uint64_t pc)
{
	const struct site *s = find(pc);
	if (s && s->put && !s->stub)
		return pc;
	for (unsigned i = 0; tsc_stubs_inside(pc) && i < tsc_sites_count; i++)
		if (tsc.site[i].stub == pc)
			return tsc.site[i].at;
	return 0;
}

uint64_t tsc_site_behind(uint64_t pc)
{
	const struct site *s = find(pc - RDTSC);
	return s && s->put && s->stub ? s->stub + TAIL : 0;
}

void tsc_stub_leave(ucontext_t *uc)
{
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP], stub = pc & -(uint64_t)STUB;
	for (unsigned i = 0; tsc_stubs_inside(pc) && i < tsc_sites_count; i++) {
		const struct site *s = &tsc.site[i];
		if (s->stub == stub && pc >= stub + TAIL)
			uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(pc == stub + TAIL ? s->at + RDTSC : s->next);
	}
}

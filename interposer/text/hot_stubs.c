#include "text/hot_stubs.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "crossing/gate.h"
#include "space/upper_memory.h"

enum { AFTER_LEA = 12, AFTER_JMP = 10 };

/* In a replay: where sites begin, from the first to the last. */
static struct {
	uint64_t low, high;
} sites;

static void put(uint8_t **to, const void *bytes, size_t len)
{
	memcpy(*to, bytes, len);
	*to += len;
}

static void put_distance(uint8_t **to, uint64_t target)
{
	int32_t rel = (int32_t)(target - ((uint64_t)*to + 4));
	put(to, &rel, sizeof(rel));
}

/* All behind the mov. */
static void make_tail(uint8_t *p, uint64_t call)
{
	const uint64_t gate = RDB_GATE;
	put(&p, "\x48\x8d\x0d", 3); /* lea site's syscall(%rip), %rcx */
	put_distance(&p, call);
	put(&p, "\x49\xbb", 2); /* movabs $RDB_GATE, %r11 */
	put(&p, &gate, sizeof(gate));
	put(&p, "\x41\xff\x63", 3); /* jmp *offset(%r11) */
	*p = offsetof(struct rdb_gate, syscall);
}

void hot_stub_make(uint8_t *p, const uint8_t *site)
{
	put(&p, site, HOT_SITE);
	make_tail(p, (uint64_t)site + HOT_SITE);
}

void hot_site_redirect(uint8_t *site, const uint8_t *stub)
{
	*site++ = 0xe9; /* jmp rel32 */
	put_distance(&site, (uint64_t)stub);
}

bool hot_stubs_leading(const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	/* the gate leads to the syscall instruction itself where SIGSYS is to come */
	return hot_stubs_inside((uint64_t)g[REG_RIP]) || (g[REG_R11] == (greg_t)RDB_GATE && g[REG_RCX] == g[REG_RIP]);
}

/* The address of the syscall instruction to which a stub leads, 0: there is no stub. */
static uint64_t leads_to(const uint8_t *stub)
{
	int32_t rel;
	if (*stub != 0xb8)
		return 0;
	if (stub[HOT_SITE] == 0xe9) {
		memcpy(&rel, stub + HOT_SITE + 1, sizeof(rel));
		return (uint64_t)stub + AFTER_JMP + (uint64_t)(int64_t)rel;
	}
	memcpy(&rel, stub + HOT_SITE + 3, sizeof(rel));
	return (uint64_t)stub + AFTER_LEA + (uint64_t)(int64_t)rel;
}

static int each_stub(void (*fn)(uint8_t *stub, uint64_t call))
{
	int rc = 0;
	upper_here();
	for (uint64_t page = RDB_STUBS; !rc && page < RDB_STUBS_END && upper_readable(page, 1); page += RDB_PAGE) {
		rc = mprotect((void *)page, RDB_PAGE, PROT_READ | PROT_WRITE) ? -errno : 0;
		for (uint8_t *p = (uint8_t *)page; !rc && p < (uint8_t *)page + RDB_PAGE; p += HOT_STUB) {
			uint64_t to = leads_to(p);
			if (to)
				fn(p, to);
		}
		if (!rc)
			rc = mprotect((void *)page, RDB_PAGE, PROT_READ | PROT_EXEC) ? -errno : 0;
	}
	return rc;
}

static void shorten(uint8_t *stub, uint64_t call)
{
	hot_site_redirect(stub + HOT_SITE, (const uint8_t *)call);
	sites.low = call - HOT_SITE < sites.low ? call - HOT_SITE : sites.low;
	sites.high = call > sites.high ? call : sites.high;
}

int hot_stubs_shorten(void)
{
	sites.low = UINT64_MAX;
	sites.high = 0;
	return each_stub(shorten);
}

static void lengthen(uint8_t *stub, uint64_t call)
{
	make_tail(stub + HOT_SITE, call);
}

int hot_stubs_lengthen(void)
{
	return each_stub(lengthen);
}

/* The stub of the site with this text, or NULL. */
static const uint8_t *stub_of(uint64_t pc, const uint8_t *text)
{
	int32_t rel;
	uint64_t stub;
	if (*text != 0xe9)
		return NULL;
	memcpy(&rel, text + 1, sizeof(rel));
	stub = pc + HOT_SITE + (uint64_t)(int64_t)rel;
	if (!hot_stubs_inside(stub) || stub % HOT_STUB || !upper_readable(stub, HOT_STUB) ||
	    leads_to((const uint8_t *)stub) != pc + HOT_SITE)
		return NULL;
	return (const uint8_t *)stub;
}

void hot_site_hide(uint64_t pc, uint8_t *text)
{
	const uint8_t *stub = stub_of(pc, text);
	if (stub)
		memcpy(text, stub, HOT_SITE);
}

/* The first site at or after `at` that begins before `end`, and its stub; `end`: there is none. */
static uint64_t next_site(uint64_t at, uint64_t end, const uint8_t **stub)
{
	for (at = at < sites.low ? sites.low : at; at < end && at < sites.high; at++)
		if (upper_readable(at, HOT_SITE) && (*stub = stub_of(at, (const uint8_t *)at)))
			return at;
	return end;
}

void hot_sites_hide(uint64_t addr, uint8_t *text, size_t len)
{
	const uint8_t *stub;
	uint64_t end = addr + len, at = addr - (HOT_SITE - 1);
	for (; (at = next_site(at, end, &stub)) < end; at += HOT_SITE)
		for (unsigned i = 0; i < HOT_SITE; i++)
			if (at + i - addr < len)
				text[at + i - addr] = stub[i];
}

void hot_sites_restore(uint64_t addr, size_t len)
{
	const uint8_t *stub;
	uint64_t end = addr + len, at = addr - (HOT_SITE - 1);
	for (; (at = next_site(at, end, &stub)) < end; at += HOT_SITE)
		upper_write(at, stub, HOT_SITE);
}

void hot_stubs_leave(ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;
	const uint8_t *stub = (const uint8_t *)((uint64_t)g[REG_RIP] & -(uint64_t)HOT_STUB);
	uint32_t nr;
	if (!hot_stubs_inside((uint64_t)g[REG_RIP]))
		return;
	memcpy(&nr, stub + 1, sizeof(nr));
	g[REG_RAX] = nr;
	g[REG_RIP] = (greg_t)leads_to(stub);
}

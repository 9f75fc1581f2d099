#include "arch/x86_64/text/hot_stubs.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "interface/gate.h"
#include "space/upper_memory.h"

enum { AFTER_LEA = 12, AFTER_JMP = 10 };

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

/* Makes the part of the stub after the mov. */
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

/* jmp rel32 */
static void make_jump(uint8_t jump[HOT_SITE], uint64_t at, uint64_t target)
{
	const int32_t rel = (int32_t)(target - (at + HOT_SITE));
	jump[0] = 0xe9;
	memcpy(jump + 1, &rel, sizeof(rel));
}

void hot_site_redirect(uint8_t *site, const uint8_t *stub)
{
	uint8_t jump[HOT_SITE];
	make_jump(jump, (uint64_t)site, (uint64_t)stub);
	patch_add(PATCH_HOT, (uint64_t)site, HOT_SITE, site, jump);
	memcpy(site, jump, HOT_SITE);
}

bool hot_stubs_leading(const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	/* the gate continues at the syscall instruction itself when SIGSYS is to come */
	return hot_stubs_inside((uint64_t)g[REG_RIP]) || (g[REG_R11] == (greg_t)RDB_GATE && g[REG_RCX] == g[REG_RIP]);
}

/* Address of the syscall instruction to which a stub leads; 0: no stub. */
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
	const uint64_t site = call - HOT_SITE;
	uint8_t jump[HOT_SITE];
	make_jump(stub + HOT_SITE, (uint64_t)stub + HOT_SITE, call);
	make_jump(jump, site, (uint64_t)stub);
	if (upper_readable(site, HOT_SITE) && !memcmp((const void *)site, jump, HOT_SITE))
		patch_add(PATCH_HOT, site, HOT_SITE, stub, jump);
}

int hot_stubs_shorten(void)
{
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

void hot_sites_restore(uint64_t addr, size_t len)
{
	const struct patch *p;
	while ((p = patch_in(PATCH_HOT, addr, len))) {
		uint8_t now[HOT_SITE];
		if (upper_read(p->addr, now, HOT_SITE) == HOT_SITE && !memcmp(now, p->put, HOT_SITE))
			upper_write(p->addr, p->own, HOT_SITE);
		patch_drop(PATCH_HOT, p->addr);
	}
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

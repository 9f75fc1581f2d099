#include "space/patches.h"
#include <string.h>
#include <sys/mman.h>
#include "base/lower.h"

enum {
	PATCHES = 4096, /* breakpoints, counter sites and hot sites; each kind has a limit of its own */
	LINE = 64,
	LINES = 4096 /* LINES counters; text lines of LINE bytes share them by address */
};

static struct patch patches[PATCHES]; /* by address, then by kind */
static unsigned count;
static uint16_t lines[LINES];
void (*patches_at_gone)(uint64_t start, uint64_t end);
struct patch_code patch_code;

static uint16_t *line_of(uint64_t addr)
{
	return &lines[addr / LINE % LINES];
}

/* Index of the first patch at or after addr. */
static unsigned first_from(uint64_t addr)
{
	unsigned low = 0, high = count;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (patches[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Index of the first patch that may extend to addr. */
static unsigned first_reaching(uint64_t addr)
{
	return first_from(addr < PATCH_BYTES ? 0 : addr - (PATCH_BYTES - 1));
}

static bool overlaps(const struct patch *p, uint64_t addr, size_t len)
{
	return p->addr < addr + len && p->addr + p->len > addr;
}

static void take_out(unsigned i)
{
	--*line_of(patches[i].addr);
	memmove(&patches[i], &patches[i + 1], (--count - i) * sizeof(*patches));
}

void patch_add(enum patch_kind kind, uint64_t addr, uint8_t len, const void *own, const void *put)
{
	patch_drop(kind, addr);
	unsigned i = first_from(addr);
	while (i < count && patches[i].addr == addr && patches[i].kind < kind)
		i++;
	if (count == PATCHES)
		rdb_fatal("more than %d patches of the program's text", PATCHES);
	memmove(&patches[i + 1], &patches[i], (count++ - i) * sizeof(*patches));
	patches[i] = (struct patch){.addr = addr, .kind = (uint8_t)kind, .len = len};
	memcpy(patches[i].own, own, len);
	memcpy(patches[i].put, put, len);
	++*line_of(addr);
}

void patch_drop(enum patch_kind kind, uint64_t addr)
{
	for (unsigned i = first_from(addr); i < count && patches[i].addr == addr; i++)
		if (patches[i].kind == kind) {
			take_out(i);
			return;
		}
}

const struct patch *patch_in(enum patch_kind kind, uint64_t addr, size_t len)
{
	for (unsigned i = first_reaching(addr); i < count && patches[i].addr < addr + len; i++)
		if (patches[i].kind == kind && overlaps(&patches[i], addr, len))
			return &patches[i];
	return NULL;
}

bool patches_write(uint64_t at, const void *bytes, size_t len)
{
	const uint64_t page = at & ~(RDB_PAGE - 1);
	const size_t span = at + len - page;
	if (mprotect((void *)page, span, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy((void *)at, bytes, len);
	if (mprotect((void *)page, span, PROT_READ | PROT_EXEC))
		rdb_fatal("program text at %#lx cannot be made read-only again", (unsigned long)at);
	return true;
}

void patches_gone(uint64_t start, uint64_t end)
{
	for (unsigned i = first_reaching(start); i < count && patches[i].addr < end;)
		if (overlaps(&patches[i], start, end - start))
			take_out(i);
		else
			i++;
	if (patches_at_gone)
		patches_at_gone(start, end);
}

bool patches_near(uint64_t addr, size_t len)
{
	return *line_of(addr - (PATCH_BYTES - 1)) || *line_of(addr + len - 1);
}

/* Puts the program's bytes back in the copy, unless the program has overwritten the patch. */
static void hide(const struct patch *p, uint64_t addr, uint8_t *copy, size_t len)
{
	uint64_t from = p->addr > addr ? p->addr : addr,
		 to = p->addr + p->len < addr + len ? p->addr + p->len : addr + len;
	if (!memcmp(copy + (from - addr), p->put + (from - p->addr), to - from))
		memcpy(copy + (from - addr), p->own + (from - p->addr), to - from);
}

void patches_hide(enum patch_kind from, uint64_t addr, void *copy, size_t len)
{
	const unsigned first = first_reaching(addr), end = first_from(addr + len);
	for (int kind = PATCH_BREAKPOINT; first < end && kind >= (int)from; kind--)
		for (unsigned i = first; i < end; i++)
			if (patches[i].kind == kind && overlaps(&patches[i], addr, len))
				hide(&patches[i], addr, copy, len);
}

const void *patches_page(uint64_t at, void *copy)
{
	for (unsigned i = first_reaching(at); i < count && patches[i].addr < at + RDB_PAGE; i++)
		if (patches[i].kind >= PATCH_COUNTER) {
			memcpy(copy, (const void *)at, RDB_PAGE);
			patches_hide(PATCH_COUNTER, at, copy, RDB_PAGE);
			return copy;
		}
	return (const void *)at;
}

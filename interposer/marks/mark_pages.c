#include "marks/mark_pages.h"
#include <string.h>
#include "space/upper_memory.h"
#include "interface/layout.h"
#include "base/crc32c.h"
#include "space/patches.h"

bool (*mark_contested)(uint64_t start, uint64_t end);

static uint64_t page_of(uint64_t addr)
{
	return addr & ~(RDB_PAGE - 1);
}

/* Text has patches, and the mark itself has the stack around its pointer. */
static bool left_out(const struct mark *m, uint64_t page)
{
	const uint64_t text = page_of(m->pc);
	return (page >= page_of(m->stack_from) && page < m->stack_from + m->stack_len + MARK_STACK_FAR) ||
	       (page + RDB_PAGE >= text && page <= text + RDB_PAGE) || page == RDB_GATE ||
	       (mark_contested && mark_contested(page, page + RDB_PAGE)) || !upper_writable(page, 1);
}

static void add(struct mark *m, uint64_t addr)
{
	const uint64_t page = page_of(addr);
	for (unsigned i = 0; i < m->npages; i++)
		if (m->pages[i] == page)
			return;
	if (m->npages < MARK_PAGES && RDB_IS_UPPER(addr) && !left_out(m, page))
		m->pages[m->npages++] = page;
}

static uint32_t crc(const struct mark *m)
{
	static uint8_t copy[RDB_PAGE];
	uint32_t sum = 0;
	for (unsigned i = 0; i < m->npages; i++)
		sum = crc32c_data(sum, patches_page(m->pages[i], copy), RDB_PAGE);
	return sum;
}

void mark_pages_take(struct mark *m)
{
	m->npages = 0;
	for (unsigned i = 0; i < m->nwords; i++)
		add(m, m->words[i].addr);
	for (unsigned i = 0; i < 16; i++)
		add(m, m->gpr[i]);
	for (uint32_t at = 0; at + 8 <= m->stack_len; at += 8) {
		uint64_t value;
		memcpy(&value, m->stack + at, 8);
		add(m, value);
	}
	m->pages_crc = crc(m);
}

bool mark_pages_same(const struct mark *m)
{
	for (unsigned i = 0; i < m->npages; i++)
		if (!upper_readable(m->pages[i], RDB_PAGE))
			return false;
	return crc(m) == m->pages_crc;
}

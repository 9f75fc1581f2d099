#include "seek/page_guard.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "space/arena.h"
#include "base/lower.h"
#include "space/upper_memory.h"

#define PIECES 512
#define LIFTED 16

struct piece {
	uint64_t start, end;
	int open, closed; /* PROT_* */
};

static struct {
	struct piece piece[PIECES];
	unsigned npieces;
	bool closed;
	uint64_t lifted[LIFTED]; /* pages that are open although the rest is closed */
	unsigned nlifted;
} g;

void page_guard_begin(void)
{
	page_guard_open();
	g.npieces = 0;
}

struct wanted {
	uint64_t start, end;
	bool reads;
};

static int add_piece(const struct mapping *m, void *arg)
{
	const struct wanted *w = arg;
	struct piece p = {.start = m->start > w->start ? m->start : w->start,
			  .end = m->end < w->end ? m->end : w->end,
			  .open = m->prot,
			  .closed = w->reads ? PROT_NONE : m->prot & ~PROT_WRITE};

	if (p.start >= p.end || p.open == p.closed)
		return 0;
	if (w->reads && m->prot & PROT_EXEC)
		return -ENOTSUP;
	if (g.npieces == PIECES)
		return -ENOSPC;
	g.piece[g.npieces++] = p;
	return 0;
}

int page_guard_add(uint64_t addr, uint64_t len, bool reads)
{
	struct wanted w = {addr & ~(RDB_PAGE - 1), (addr + len + RDB_PAGE - 1) & ~(RDB_PAGE - 1), reads};

	return arena_each(add_piece, &w);
}

bool page_guard_any(void)
{
	return g.npieces != 0;
}

static void protect(uint64_t start, uint64_t end, int prot)
{
	long rc = raw_syscall(SYS_mprotect, (long)start, (long)(end - start), prot, 0, 0, 0);

	if (rc) /* going on would miss accesses to watched memory */
		rdb_fatal("pages with watched memory cannot be protected: error %ld", -rc);
}

/* PROT_NONE comes last: where two pieces share a page, it wins. */
static void close_all(void)
{
	for (int none = 0; none < 2; none++)
		for (struct piece *p = g.piece; p < g.piece + g.npieces; p++)
			if ((p->closed == PROT_NONE) == none)
				protect(p->start, p->end, p->closed);
}

static const struct piece *strictest(uint64_t page)
{
	const struct piece *found = NULL;

	for (const struct piece *p = g.piece; p < g.piece + g.npieces; p++)
		if (p->start <= page && page < p->end && (!found || p->closed == PROT_NONE))
			found = p;
	return found;
}

void page_guard_close(void)
{
	if (g.npieces == 0 || (g.closed && g.nlifted == 0))
		return;
	if (!g.closed)
		close_all();
	for (unsigned i = 0; g.closed && i < g.nlifted; i++)
		protect(g.lifted[i], g.lifted[i] + RDB_PAGE, strictest(g.lifted[i])->closed);
	g.closed = true;
	g.nlifted = 0;
	upper_changed();
}

void page_guard_open(void)
{
	if (!g.closed)
		return;
	for (struct piece *p = g.piece; p < g.piece + g.npieces; p++)
		protect(p->start, p->end, p->open);
	g.closed = false;
	g.nlifted = 0;
}

bool page_guard_lift(uint64_t addr, bool write)
{
	uint64_t page = addr & ~(RDB_PAGE - 1);
	const struct piece *p = g.closed ? strictest(page) : NULL;

	if (!p || !(p->open & (write ? PROT_WRITE : PROT_READ)) || (!write && p->closed & PROT_READ))
		return false;
	for (unsigned i = 0; i < g.nlifted; i++)
		if (g.lifted[i] == page)
			return false;
	if (g.nlifted == LIFTED) {
		page_guard_open();
		return true;
	}
	protect(page, page + RDB_PAGE, p->open);
	g.lifted[g.nlifted++] = page;
	return true;
}

bool page_guard_open_protection(uint64_t addr, int *prot)
{
	const struct piece *p = strictest(addr & ~(RDB_PAGE - 1));

	if (p)
		*prot = p->open;
	return p;
}

bool page_guard_touched(uint64_t addr, uint64_t len)
{
	for (const struct piece *p = g.piece; p < g.piece + g.npieces; p++)
		if (addr < p->end && p->start < addr + len)
			return true;
	return false;
}

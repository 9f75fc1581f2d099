#include "seek/text_guard.h"
#include <sys/mman.h>
#include <sys/syscall.h>
#include "seek/page_guard.h"
#include "space/upper_memory.h"
#include "base/lower.h"
#include "space/aliases.h"
#include "space/arena.h"

enum { PAGES = 8192 };

static struct page {
	uint64_t addr;
	int open;     /* PROT_* */
	bool closes;  /* the program may write to it, or only read it */
	bool follows; /* a private mapping that shows the object's page, not one of its own */
} pages[PAGES];
static unsigned npages;
static bool closed;

static struct page *find(uint64_t addr)
{
	for (struct page *p = pages; p < pages + npages; p++)
		if (p->addr == (addr & ~(RDB_PAGE - 1)))
			return p;
	return NULL;
}

/* PROT_*, 0 where nothing is. */
static int protection_at(uint64_t addr)
{
	struct mapping m;

	return arena_mapping_at(addr, &m) ? m.prot : 0;
}

static void protect(const struct page *p, int prot)
{
	long rc = p->closes ? raw_syscall(SYS_mprotect, (long)p->addr, RDB_PAGE, prot, 0, 0, 0) : 0;

	if (rc) /* going on would lose a patch */
		rdb_fatal("text that the program may write to cannot be protected: error %ld", -rc);
}

/* True: the page is not executable.  It is another address of the text, where the program must not see a patch. */
static bool hidden(const struct page *p)
{
	return !(p->open & PROT_EXEC);
}

/* A writable page is readable on x86.  PROT_EXEC is not added: text is checked before it is run (made_text.h). */
static void shut(struct page *p)
{
	p->follows = aliases_follows(p->addr);
	protect(p, hidden(p) ? PROT_NONE : (p->open & ~PROT_WRITE) | PROT_READ);
}

static int add(uint64_t addr, uint64_t len, uint64_t at, void *arg)
{
	struct page *p = find(addr);

	if (p)
		return 0;
	if (npages == PAGES)
		rdb_fatal("breakpoints in more than %d pages of text that the program may write to", PAGES);
	p = &pages[npages++];
	*p = (struct page){.addr = addr & ~(RDB_PAGE - 1)};
	if (!page_guard_open_protection(addr, &p->open))
		p->open = protection_at(addr);
	p->closes = p->open & PROT_WRITE || (hidden(p) && p->open);
	shut(p);
	return 0;
}

static bool writable(uint64_t addr)
{
	bool (*refused)(uint64_t, bool) = upper_refused;
	int open;
	bool can;

	if (page_guard_open_protection(addr, &open))
		return open & PROT_WRITE;
	upper_refused = NULL; /* a question, not an access */
	can = upper_writable(addr, 1);
	if (!can && !upper_readable(addr, 1)) /* perhaps it may be written only */
		can = protection_at(addr) & PROT_WRITE;
	upper_refused = refused;
	return can;
}

static bool page_wanted(uint64_t addr)
{
	return writable(addr) || aliases_of(addr, 1);
}

bool text_guard_wanted(uint64_t addr, size_t len)
{
	uint64_t last = addr + len - 1;

	return find(addr) || find(last) || page_wanted(addr) ||
	       (((addr ^ last) & ~(RDB_PAGE - 1)) && page_wanted(last));
}

bool text_guard_close(uint64_t addr, size_t len)
{
	uint64_t last = addr + len - 1;

	if (!text_guard_wanted(addr, len))
		return false;
	if (!closed) {
		closed = true;
		for (struct page *p = pages; p < pages + npages; p++)
			shut(p);
	}
	add(addr, 1, 0, NULL);
	add(last, 1, 0, NULL);
	aliases_each(addr, 1, add, NULL);
	aliases_each(last, 1, add, NULL);
	upper_changed();
	return true;
}

bool text_guard_any(void)
{
	return closed;
}

void text_guard_open(void)
{
	if (!closed)
		return;
	closed = false;
	for (struct page *p = pages; p < pages + npages; p++) {
		protect(p, p->open);
		if (p->follows)
			aliases_drop_own(p->addr);
	}
	upper_changed();
}

void text_guard_forget(void)
{
	text_guard_open();
	npages = 0;
}

bool text_guard_open_protection(uint64_t addr, int *prot)
{
	const struct page *p = find(addr);

	if (p)
		*prot = p->open;
	return p;
}

bool text_guard_touched(uint64_t addr, uint64_t len)
{
	return npages && (find(addr) || find(addr + len - 1));
}

bool text_guard_hides(uint64_t addr, uint64_t len)
{
	const struct page *first = npages ? find(addr) : NULL, *last = npages ? find(addr + len - 1) : NULL;

	return (first && hidden(first)) || (last && hidden(last));
}

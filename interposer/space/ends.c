#include "space/ends.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "arch/registers.h"
#include "base/spans.h"
#include "base/table.h"
#include "log/log_reader.h"
#include "space/arena.h"

struct end {
	union {
		struct span span;
		struct {
			uint64_t start, end;
		};
	};
	int prot;
	bool ours;   /* we have made these pages inaccessible; else the kernel's mapping has its end there */
	bool unsaid; /* the log has no record of it yet */
};

unsigned ends_known;
static unsigned of_kernel; /* those that are not ours */

static void added(struct span *s)
{
	ends_known++;
	of_kernel += !((struct end *)s)->ours;
}

static void taken(struct span *s)
{
	ends_known--;
	of_kernel -= !((struct end *)s)->ours;
}

static struct spans ends = {.size = sizeof(struct end), .added = added, .taken = taken};

static void protect(uint64_t start, uint64_t end, int prot)
{
	if (raw_syscall(SYS_mprotect, (long)start, (long)(end - start), prot, 0, 0, 0))
		rdb_fatal("memory at %#lx cannot be protected", (unsigned long)start);
	if (lower.started && lower.mode->reprotected)
		lower.mode->reprotected(start, end);
}

static void add(uint64_t start, uint64_t end, int prot, bool ours)
{
	ends_gone(start, end);
	if (!spans_new(&ends, &(struct end){.start = start, .end = end, .prot = prot, .ours = ours}))
		mappings_no_memory();
}

void ends_add(uint64_t start, uint64_t end, int prot)
{
	add(start, end, prot, true);
	protect(start, end, PROT_NONE);
}

void ends_gone(uint64_t start, uint64_t end)
{
	if (spans_cut(&ends, start, end, NULL, NULL))
		mappings_no_memory();
}

static void keep(struct span *part, void *arg)
{
	if (table_add(arg, part, sizeof(struct end)))
		mappings_no_memory();
}

/* Removes the known parts of [start, end) from the table, and calls fn for each. */
static void each_part(uint64_t start, uint64_t end, void (*fn)(const struct end *part, int prot), int prot)
{
	struct table parts = {0};
	if (spans_cut(&ends, start, end, keep, &parts))
		mappings_no_memory();
	for (const struct end *part = (void *)parts.base; (uint8_t *)part < parts.base + parts.len; part++)
		fn(part, prot);
	table_drop(&parts);
}

static void again(const struct end *part, int prot)
{
	add(part->start, part->end, prot, part->ours);
	if (part->ours)
		protect(part->start, part->end, PROT_NONE);
}

void ends_protected(uint64_t start, uint64_t end, int prot)
{
	if (ends_known)
		each_part(start, end, again, prot);
}

static void files(const struct end *part, int prot)
{
	add(part->start, part->end, part->prot, false);
}

void ends_of_file(uint64_t start, uint64_t end)
{
	if (ends_known)
		each_part(start, end, files, 0);
}

void ends_found(uint64_t page, uint64_t end, int prot)
{
	int known;
	if (!recording() || ends_at(page, &known))
		return;
	add(page, end, prot, false);
	((struct end *)spans_at(&ends, page))->unsaid = true;
}

void ends_say(void (*say)(const uint64_t range[2]))
{
	SPANS_IN(struct end, e, &ends, 0, UINT64_MAX)
	if (e->unsaid) {
		e->unsaid = false;
		say((uint64_t[2]){e->start, e->end});
	}
}

bool ends_at(uint64_t addr, int *prot)
{
	const struct end *e = spans_at(&ends, addr);
	if (e)
		*prot = e->prot;
	return e;
}

bool ends_closed(uint64_t from, uint64_t to, uint64_t part[2], int *prot)
{
	part[0] = part[1] = to;
	SPANS_IN(struct end, e, &ends, from, to)
	{
		if (!e->ours)
			continue;
		part[0] = e->start > from ? e->start : from;
		part[1] = e->end < to ? e->end : to;
		*prot = e->prot;
		return true;
	}
	return false;
}

static bool there(uint64_t addr)
{
	char byte;
	struct iovec l = {&byte, 1}, r = {(void *)addr, 1};
	return raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&r, 1, 0) == 1;
}

/* Finds where the file ends in the kernel's mapping that holds this page. */
static bool find_end(uint64_t page)
{
	struct mapping m;
	if (!arena_mapping_at(page, &m))
		return false;
	while (page > m.start && !there(page - RDB_PAGE))
		page -= RDB_PAGE;
	add(page, m.end, m.prot, false);
	return true;
}

/* Does the page's protection forbid the access? */
static bool forbidden(const ucontext_t *uc, int prot)
{
	return !(prot & (uc_fault_fetched(uc) ? PROT_EXEC
			 : uc_fault_wrote(uc) ? PROT_WRITE
					      : PROT_READ | PROT_WRITE | PROT_EXEC));
}

void ends_fault(int *sig, siginfo_t *info, const ucontext_t *uc, void (*say)(const uint64_t range[2]))
{
	const uint64_t addr = (uint64_t)info->si_addr;
	int prot;
	if (info->si_code <= 0 || !RDB_IS_UPPER(addr))
		return;
	const bool known = ends_at(addr, &prot);
	if (*sig == SIGSEGV && known && info->si_code == SEGV_ACCERR && !forbidden(uc, prot)) {
		*sig = info->si_signo = SIGBUS;
		info->si_code = BUS_ADRERR;
	}
	if (*sig != SIGBUS || !recording() || !lower.started)
		return;
	if (!known && (info->si_code != BUS_ADRERR || !find_end(addr & ~(RDB_PAGE - 1))))
		return;
	const struct end *e = spans_at(&ends, addr);
	if (e)
		say((uint64_t[2]){e->start, e->end});
}

void ends_sync(struct event *ev)
{
	struct end *e;
	for (uint64_t from = 0; of_kernel && (e = spans_next(&ends, NULL, 0, from, UINT64_MAX));) {
		const uint64_t start = e->start, end = e->end;
		uint64_t upto = start;
		while (!e->ours && upto < end && e->prot & PROT_READ && there(upto))
			upto += RDB_PAGE;
		from = end;
		if (upto == start)
			continue;
		event_note(ev, RDB_NOTE_BACK, (uint64_t[2]){start, upto}, 16);
		ends_gone(start, upto);
	}
}

/* ---- replay ---- */

static int close_part(const struct mapping *m, void *arg)
{
	const uint64_t *range = arg;
	const uint64_t start = m->start > range[0] ? m->start : range[0], end = m->end < range[1] ? m->end : range[1];
	int prot;
	if (start < end && !ends_at(start, &prot))
		ends_add(start, end, m->prot);
	return 0;
}

void ends_recorded(const struct log_record *rec)
{
	uint64_t range[2];
	if (rec->nargs != 2)
		return;
	memcpy(range, log_args(rec), sizeof(range));
	arena_each_in(range[0], range[1], close_part, range);
}

static void open_part(const struct end *part, int prot)
{
	protect(part->start, part->end, part->prot);
}

void ends_back(const uint64_t range[2])
{
	each_part(range[0], range[1], open_part, 0);
}

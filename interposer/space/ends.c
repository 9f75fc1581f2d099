#include "space/ends.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "base/context.h"
#include "log/log_reader.h"
#include "space/arena.h"

enum { ENDS = 1024 };

static struct end {
	uint64_t start, end;
	int prot;
	bool ours; /* we have closed these pages; else the kernel's mapping ends there */
} ends[ENDS];
unsigned ends_known;

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
	if (ends_known == ENDS)
		rdb_fatal("more than %d mappings of files go beyond their ends", ENDS);
	ends[ends_known++] = (struct end){start, end, prot, ours};
}

void ends_add(uint64_t start, uint64_t end, int prot)
{
	add(start, end, prot, true);
	protect(start, end, PROT_NONE);
}

void ends_gone(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < ends_known;) {
		struct end head = ends[i], tail = head;
		if (head.start >= end || head.end <= start) {
			i++;
			continue;
		}
		ends[i] = ends[--ends_known];
		head.end = start;
		tail.start = end;
		if (ends_known + 2 > ENDS)
			rdb_fatal("more than %d mappings of files go beyond their ends", ENDS);
		if (head.start < head.end)
			ends[ends_known++] = head; /* outside of [start, end) now */
		if (tail.start < tail.end)
			ends[ends_known++] = tail;
	}
}

/* Calls fn for the parts of [start, end) that are known, each taken out of the table. */
static void each_part(uint64_t start, uint64_t end, void (*fn)(const struct end *part, int prot), int prot)
{
	static struct end parts[ENDS];
	unsigned n = 0;
	for (unsigned i = 0; i < ends_known; i++) {
		struct end part = ends[i];
		part.start = part.start > start ? part.start : start;
		part.end = part.end < end ? part.end : end;
		if (part.start < part.end)
			parts[n++] = part;
	}
	ends_gone(start, end);
	while (n--)
		fn(&parts[n], prot);
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

bool ends_at(uint64_t addr, int *prot)
{
	for (unsigned i = 0; i < ends_known; i++)
		if (addr >= ends[i].start && addr < ends[i].end) {
			*prot = ends[i].prot;
			return true;
		}
	return false;
}

bool ends_closed(uint64_t from, uint64_t to, uint64_t part[2], int *prot)
{
	part[0] = part[1] = to;
	for (unsigned i = 0; i < ends_known; i++) {
		const uint64_t start = ends[i].start > from ? ends[i].start : from;
		if (!ends[i].ours || start >= part[0] || ends[i].end <= from)
			continue;
		part[0] = start;
		part[1] = ends[i].end < to ? ends[i].end : to;
		*prot = ends[i].prot;
	}
	return part[0] < to;
}

static bool there(uint64_t addr)
{
	char byte;
	struct iovec l = {&byte, 1}, r = {(void *)addr, 1};
	return raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&r, 1, 0) == 1;
}

/* A mapping of a file that the kernel knows to end before this page. */
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

/* Is it the page's protection that forbids it?  Error codes of page faults: Intel SDM vol. 3, 4.7. */
static bool forbidden(const ucontext_t *uc, int prot)
{
	const uint64_t error = UC_REG(uc, ERR);
	return !(prot & (error & 16 ? PROT_EXEC : error & 2 ? PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC));
}

void ends_fault(int *sig, siginfo_t *info, const ucontext_t *uc, void (*say)(const uint64_t range[2]))
{
	const uint64_t addr = (uint64_t)info->si_addr;
	int prot;
	if (info->si_code <= 0 || addr >= RDB_ARENA_END)
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
	for (unsigned i = 0; i < ends_known; i++)
		if (addr >= ends[i].start && addr < ends[i].end)
			say((uint64_t[2]){ends[i].start, ends[i].end});
}

void ends_sync(struct event *ev)
{
	for (unsigned i = 0; i < ends_known; i++) {
		uint64_t upto = ends[i].start;
		while (!ends[i].ours && upto < ends[i].end && ends[i].prot & PROT_READ && there(upto))
			upto += RDB_PAGE;
		if (upto == ends[i].start)
			continue;
		const uint64_t range[2] = {ends[i].start, upto};
		event_note(ev, RDB_NOTE_BACK, range, sizeof(range));
		ends_gone(range[0], range[1]);
		i = UINT32_MAX; /* from the first on: their places have changed */
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
	arena_each(close_part, range);
}

static void open_part(const struct end *part, int prot)
{
	protect(part->start, part->end, part->prot);
}

void ends_back(const uint64_t range[2])
{
	each_part(range[0], range[1], open_part, 0);
}

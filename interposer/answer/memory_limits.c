#include "answer/memory_limits.h"
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include "answer/limits.h"
#include "answer/memory_use.h"
#include "base/lower.h"
#include "base/user.h"

#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))

/* May this many pages be used? */
static bool within(uint64_t bytes, uint64_t most)
{
	return bytes / RDB_PAGE <= most / RDB_PAGE;
}

/* may_expand_vm() in mm/mmap.c, for `more` bytes in place of those of [at, at + replaced). */
static bool may(size_t more, bool data, uint64_t at, size_t replaced)
{
	struct rlimit l;
	struct memory_use use;
	const uint64_t all = limits_own(RLIMIT_AS, &l), of_data = data ? limits_own(RLIMIT_DATA, &l) : RLIM_INFINITY;
	if ((all == RLIM_INFINITY && of_data == RLIM_INFINITY) || memory_use(&use, at, at + replaced))
		return true;
	if (!within(use.all - use.inside + more, all))
		return false;
	const uint64_t of_program = use.data + more > use.inside ? use.data + more - use.inside : 0;
	return within(of_program, of_data) || (!of_data && within(of_program, l.rlim_max)); /* valgrind's limit of 0 */
}

long memory_limits_more(size_t more, bool data, uint64_t at, size_t replaced)
{
	return may(more, data, at, replaced) ? 0 : -ENOMEM;
}

/* mprotect_fixup() in mm/mprotect.c: where memory becomes data, for each mapping. */
struct becomes {
	uint64_t from, to;
};

static int becomes_data(const struct mapping *m, void *arg)
{
	const struct becomes *b = arg;
	const uint64_t from = m->start > b->from ? m->start : b->from, to = m->end < b->to ? m->end : b->to;
	return !m->shared && !(m->prot & PROT_WRITE) && !memory_use_is_stack(m) && !may(to - from, true, 0, 0) &&
	       may(to - from, false, 0, 0);
}

long memory_limits_protect(uint64_t at, size_t len, int prot)
{
	struct rlimit l;
	struct becomes b = {at, at + len};
	if (!(prot & PROT_WRITE) || limits_own(RLIMIT_DATA, &l) == RLIM_INFINITY)
		return 0;
	return arena_each_in(at, at + len, becomes_data, &b) > 0 ? -ENOMEM : 0;
}

/* What mm_struct has as end_data - start_data. */
static uint64_t program_data(void)
{
	uint64_t at = lower.upper.auxv_addr, headers = 0, count = 0, start = 0, end = 0;
	Elf64_auxv_t aux;
	Elf64_Phdr p;
	for (; !user_read(&aux, at, sizeof(aux)) && aux.a_type != AT_NULL; at += sizeof(aux))
		if (aux.a_type == AT_PHDR)
			headers = aux.a_un.a_val;
		else if (aux.a_type == AT_PHNUM)
			count = aux.a_un.a_val;
	for (; count && !user_read(&p, headers, sizeof(p)); count--, headers += sizeof(p)) {
		if (p.p_type != PT_LOAD)
			continue;
		if (p.p_vaddr > start)
			start = p.p_vaddr;
		if (p.p_vaddr + p.p_filesz > end)
			end = p.p_vaddr + p.p_filesz;
	}
	return end > start ? end - start : 0;
}

long memory_limits_heap(uint64_t want)
{
	struct rlimit l;
	const uint64_t most = limits_own(RLIMIT_DATA, &l), had = UP(lower.upper.brk);
	if (most != RLIM_INFINITY && want - RDB_BRK + program_data() > most)
		return -ENOMEM;
	return UP(want) > had && !may(UP(want) - had, true, 0, 0) ? -ENOMEM : 0;
}

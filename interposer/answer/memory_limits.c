#include "answer/memory_limits.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/memory_use.h"
#include "base/lower.h"
#include "base/user.h"

#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))

enum { KINDS = 2 };
static const unsigned kinds[KINDS] = {RLIMIT_AS, RLIMIT_DATA};

/* More than there are addresses, and less than the values that programs set in place of RLIM_INFINITY. */
static const uint64_t LIMIT_APART = 1ul << 56;

static bool is_ours(uint64_t which)
{
	return which == RLIMIT_AS || which == RLIMIT_DATA;
}

static uint64_t apart(uint64_t value)
{
	return value < LIMIT_APART ? value + LIMIT_APART : value;
}

uint64_t memory_limits_known(uint64_t value)
{
	return value >= LIMIT_APART && value < 2 * LIMIT_APART ? value - LIMIT_APART : value;
}

static long kernel(long pid, unsigned which, const struct rlimit *set, struct rlimit *get)
{
	return raw_syscall(SYS_prlimit64, pid, which, (long)set, (long)get, 0, 0);
}

/* Are these limits set apart?  A hard limit that the kernel has cannot be raised. */
static bool are_apart(const struct rlimit *of_kernel)
{
	return of_kernel->rlim_max >= LIMIT_APART;
}

void memory_limits_begin(void)
{
	struct rlimit now;
	for (unsigned i = 0; i < KINDS; i++)
		if (!kernel(0, kinds[i], NULL, &now)) {
			const struct rlimit more = {apart(now.rlim_cur), apart(now.rlim_max)};
			kernel(0, kinds[i], &more, NULL); /* else see memory_limits.h */
		}
}

void memory_limits_leave(void)
{
	struct rlimit now;
	for (unsigned i = 0; i < KINDS; i++)
		if (!kernel(0, kinds[i], NULL, &now)) {
			now.rlim_cur = memory_limits_known(now.rlim_cur);
			now.rlim_max = memory_limits_known(now.rlim_max);
			kernel(0, kinds[i], &now, NULL);
		}
}

/* Does that process have rdb count its memory? */
static bool is_counted(long pid)
{
	char path[32];
	struct stat own, its;
	if (!pid || pid == lower.pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	return !stat("/proc/self/exe", &own) && !stat(path, &its) && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

static long set_apart(long pid, unsigned which, const struct rlimit *to, struct rlimit *had)
{
	struct rlimit more;
	const long rc = kernel(pid, which, NULL, had);
	if (rc || !to)
		return rc;
	more = *to;
	if (are_apart(had) && is_counted(pid)) {
		more.rlim_cur = apart(more.rlim_cur);
		more.rlim_max = apart(more.rlim_max);
	}
	return kernel(pid, which, &more, NULL);
}

long memory_limits_set(unsigned which, const struct rlimit *to)
{
	struct rlimit had;
	return is_ours(which) ? set_apart(0, which, to, &had) : kernel(0, which, to, NULL);
}

bool memory_limits_call(uint64_t nr, const uint64_t a[6], long *result)
{
	const bool of_process = nr == SYS_prlimit64;
	const uint64_t which = (unsigned)a[of_process];
	const uint64_t new = nr == SYS_getrlimit ? 0 : a[1 + of_process];
	const uint64_t old = nr == SYS_setrlimit ? 0 : a[nr == SYS_getrlimit ? 1 : 3];
	struct rlimit to, had;
	if (!is_ours(which))
		return false;
	if ((new || nr == SYS_setrlimit) && user_read(&to, new, sizeof(to))) {
		*result = -EFAULT;
		return true;
	}
	*result = set_apart(of_process ? (int)a[0] : 0, (unsigned)which, new ? &to : NULL, &had);
	had.rlim_cur = memory_limits_known(had.rlim_cur);
	had.rlim_max = memory_limits_known(had.rlim_max);
	if (!*result && (old || nr == SYS_getrlimit) && user_write(old, &had, sizeof(had)))
		*result = -EFAULT;
	return true;
}

/* ---- what may be mapped ---- */

/* The program's limit that rdb has to see to; RLIM_INFINITY: none. */
static uint64_t limit(unsigned which, struct rlimit *l)
{
	const uint64_t none = RLIM_INFINITY;
	if (kernel(0, which, NULL, l) || !are_apart(l))
		return none;
	l->rlim_max = memory_limits_known(l->rlim_max);
	return l->rlim_cur == memory_limits_known(l->rlim_cur) ? none : memory_limits_known(l->rlim_cur);
}

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
	const uint64_t all = limit(RLIMIT_AS, &l), of_data = data ? limit(RLIMIT_DATA, &l) : RLIM_INFINITY;
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
	if (!(prot & PROT_WRITE) || limit(RLIMIT_DATA, &l) == RLIM_INFINITY)
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
	const uint64_t most = limit(RLIMIT_DATA, &l), had = UP(lower.upper.brk);
	if (most != RLIM_INFINITY && want - RDB_BRK + program_data() > most)
		return -ENOMEM;
	return UP(want) > had && !may(UP(want) - had, true, 0, 0) ? -ENOMEM : 0;
}

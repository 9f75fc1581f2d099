#include "answer/memory_use.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/descriptors.h"

#define DOWN(x) ((x) & ~(RDB_PAGE - 1))

enum { STACK_EXPAND = 128 << 10 }; /* setup_arg_pages() in fs/exec.c */

static uint64_t lowest_sp = RDB_STACK_TOP;

/* Pages in the upper half that are rdb's own; the program's maps do not have to show them. */
static const struct {
	uint64_t start, end;
} ours[] = {
	{RDB_COUNTER_STUBS_LOW, RDB_SPIN_STUBS_LOW + RDB_COUNTER_STUBS_BYTES},
	{RDB_GATE, RDB_SCRATCH_END},
	{RDB_SPIN_STUBS_PROG, RDB_COUNTER_STUBS_PROG + RDB_COUNTER_STUBS_BYTES},
	{RDB_SPIN_STUBS, RDB_STUBS_END},
};

static bool is_ours(const struct mapping *m)
{
	for (unsigned i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (m->start >= ours[i].start && m->end <= ours[i].end)
			return true;
	return false;
}

bool memory_use_is_stack(const struct mapping *m)
{
	return m->start >= RDB_MMAP_END && m->end <= RDB_STACK_TOP;
}

void memory_use_stack_at(uint64_t sp)
{
	if (sp < lowest_sp && sp >= RDB_MMAP_END)
		lowest_sp = sp;
}

static uint64_t stack_now(void)
{
	uint64_t begin = DOWN(lower.upper.arguments) - STACK_EXPAND;
	return RDB_STACK_TOP - (DOWN(lowest_sp) < begin ? DOWN(lowest_sp) : begin);
}

/* The kernel's vDSO is in each process, and counts. */
static int add_vdso(const char *line, void *arg)
{
	const struct mapping m = maps_parse(line);
	if (strstr(line, "[vdso]") || strstr(line, "[vvar"))
		*(uint64_t *)arg += m.end - m.start;
	return 0;
}

static uint64_t of_vdso(void)
{
	static uint64_t bytes;
	if (bytes)
		return bytes;
	const int fd = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	if (fd < 0)
		return 0;
	maps_lines(fd, add_vdso, &bytes);
	close(fd);
	return bytes;
}

struct sum {
	struct memory_use *use;
	uint64_t from, to;
};

static int add(const struct mapping *m, void *arg)
{
	const struct sum *sum = arg;
	const uint64_t from = m->start > sum->from ? m->start : sum->from, to = m->end < sum->to ? m->end : sum->to;
	if (is_ours(m) || memory_use_is_stack(m))
		return 0;
	sum->use->all += m->end - m->start;
	if (!m->shared && m->prot & PROT_WRITE)
		sum->use->data += m->end - m->start;
	if (from < to)
		sum->use->inside += to - from;
	return 0;
}

long memory_use(struct memory_use *out, uint64_t from, uint64_t to)
{
	memset(out, 0, sizeof(*out));
	const int rc = arena_each(add, &(struct sum){out, from, to});
	out->stack = stack_now();
	out->all += out->stack + of_vdso();
	return rc;
}

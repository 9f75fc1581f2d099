#include "answer/stack_limit.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "answer/memory_calls.h"
#include "base/user.h"
#include "crossing/boundary.h"
#include "space/arena.h"
#include "space/mapping.h"
#include "task/thread.h"

#define A(i) (ev->args[i])

static const uint64_t MOST = 1ul << 30;

uint64_t stack_limit_bytes(uint64_t limit)
{
	return limit > MOST ? MOST : (limit + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
}

static int lowest(const struct mapping *m, void *arg)
{
	*(uint64_t *)arg = m->start;
	return 1;
}

/* As far as the stack has grown without rdb: in a replay memory is the same, while the kernel's pages are not. */
static uint64_t used_from(uint64_t from, uint64_t end)
{
	uint64_t page[RDB_PAGE / sizeof(uint64_t)];
	while (from < end && !user_read(page, from, sizeof(page)) && page_is_zero(page))
		from += RDB_PAGE;
	return from;
}

static void changed(uint64_t limit)
{
	uint64_t begin = 0, want = RDB_STACK_TOP - stack_limit_bytes(limit);
	if (arena_each_in(RDB_MMAP_END, RDB_STACK_TOP, lowest, &begin) != 1)
		return;
	if (want < begin) {
		if (!memory_map_zero(want, begin - want, PROT_READ | PROT_WRITE))
			memory_remapped(want, begin - want);
		return;
	}
	if (threads_alive() > 1) /* the first thread may be on its way down */
		return;
	want = used_from(begin, want);
	if (want > begin)
		memory_unmap(begin, want - begin);
}

void stack_limit_call(const struct event *ev)
{
	const bool of_process = ev->nr == SYS_prlimit64;
	struct rlimit to;
	if (ev->result || (ev->nr != SYS_setrlimit && !of_process) || (unsigned)A(of_process) != RLIMIT_STACK)
		return;
	if (of_process && ((A(0) && (int32_t)A(0) != lower.upper.pid) || A(2) == A(3)))
		return;
	if (!user_read(&to, A(1 + of_process), sizeof(to)))
		changed(to.rlim_cur);
}

#include "answer/wiped.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "base/lower.h"
#include "base/spans.h"
#include "space/arena.h"
#include "space/shared_memory.h"

static struct spans wiped = {.size = sizeof(struct span)};

static void no_memory(void)
{
	rdb_fatal("no memory for the list of pages that a fork clears (MADV_WIPEONFORK)");
}

static void add(uint64_t start, uint64_t end)
{
	const struct span s = {.start = start, .end = end};
	wiped_not_any_more(start, end);
	if (start < end && !spans_new(&wiped, &s))
		no_memory();
}

struct asked {
	uint64_t at, end; /* examined up to `at` */
	long rc;
};

/* mm/madvise.c: memory that is shared or of a file is an error that ends the call; a gap is an error, but does not end
 * it. */
static int wipe(const struct mapping *m, void *arg)
{
	struct asked *a = arg;
	const uint64_t start = m->start > a->at ? m->start : a->at, end = m->end < a->end ? m->end : a->end;
	if (start > a->at)
		a->rc = -ENOMEM;
	a->at = end;
	if (m->shared || arena_file_at(start) || shared_at(start)) {
		a->rc = -EINVAL;
		return 1;
	}
	add(start, end);
	return 0;
}

long wiped_on_fork(uint64_t start, uint64_t end)
{
	struct asked a = {.at = start, .end = end};
	const int rc = arena_each_in(start, end, wipe, &a);
	if (rc < 0)
		return rc;
	return !rc && a.at < end ? -ENOMEM : a.rc;
}

void wiped_not_any_more(uint64_t start, uint64_t end)
{
	if (spans_cut(&wiped, start, end, NULL, NULL))
		no_memory();
}

void wiped_moved(uint64_t old, uint64_t at, size_t len)
{
	const bool was = spans_at(&wiped, old);
	wiped_not_any_more(at, at + len);
	if (was)
		add(at, at + len);
}

void wiped_in_child(void)
{
	SPANS_EACH(struct span, s, &wiped)
	raw_syscall(SYS_madvise, (long)s->start, (long)(s->end - s->start), MADV_DONTNEED, 0, 0, 0);
}

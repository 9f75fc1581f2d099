#include "answer/fork_advice.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "answer/memory_calls.h"
#include "base/lower.h"
#include "base/spans.h"
#include "space/arena.h"
#include "space/shared_memory.h"

#ifndef MADV_KEEPONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif

enum { WIPED, LEFT_OUT, KINDS };
static struct spans of[KINDS] = {{.size = sizeof(struct span)}, {.size = sizeof(struct span)}};

static void no_memory(void)
{
	rdb_fatal("out of memory for the list of pages that a fork clears or leaves out (madvise)");
}

static void cut(struct spans *from, uint64_t start, uint64_t end)
{
	if (spans_cut(from, start, end, NULL, NULL))
		no_memory();
}

static void add(struct spans *to, uint64_t start, uint64_t end)
{
	const struct span s = {.start = start, .end = end};
	cut(to, start, end);
	if (start < end && !spans_new(to, &s))
		no_memory();
}

struct asked {
	uint64_t at, end;  /* examined up to `at` */
	bool private_only; /* memory that is shared or of a file is an error, which ends the call */
	struct spans *to;  /* NULL: only asked */
	long rc;
};

/* mm/madvise.c: a gap is an error, but does not end the call. */
static int advised(const struct mapping *m, void *arg)
{
	struct asked *a = arg;
	const uint64_t start = m->start > a->at ? m->start : a->at, end = m->end < a->end ? m->end : a->end;
	if (start > a->at)
		a->rc = -ENOMEM;
	a->at = end;
	if (a->private_only && (m->shared || arena_file_at(start) || shared_at(start))) {
		a->rc = -EINVAL;
		return 1;
	}
	if (a->to)
		add(a->to, start, end);
	return 0;
}

static long each(uint64_t start, uint64_t end, bool private_only, struct spans *to)
{
	struct asked a = {.at = start, .end = end, .private_only = private_only, .to = to};
	const int rc = arena_each_in(start, end, advised, &a);
	if (rc < 0)
		return rc;
	return !rc && a.at < end ? -ENOMEM : a.rc;
}

long fork_advice_is_private(uint64_t start, uint64_t end)
{
	return each(start, end, true, NULL);
}

long fork_advice(int advice, uint64_t start, uint64_t end)
{
	switch (advice) {
	case MADV_WIPEONFORK: return each(start, end, true, &of[WIPED]);
	case MADV_DONTFORK: return each(start, end, false, &of[LEFT_OUT]);
	case MADV_KEEPONFORK: cut(&of[WIPED], start, end); break;
	case MADV_DOFORK: cut(&of[LEFT_OUT], start, end); break;
	default: return -EINVAL;
	}
	return each(start, end, false, NULL);
}

void fork_advice_forget(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < KINDS; i++)
		cut(&of[i], start, end);
}

void fork_advice_moved(uint64_t old, uint64_t at, size_t len)
{
	bool had[KINDS];
	for (unsigned i = 0; i < KINDS; i++)
		had[i] = spans_at(&of[i], old);
	fork_advice_forget(at, at + len);
	for (unsigned i = 0; i < KINDS; i++)
		if (had[i])
			add(&of[i], at, at + len);
}

void fork_advice_in_child(void)
{
	SPANS_EACH(struct span, s, &of[WIPED])
	raw_syscall(SYS_madvise, (long)s->start, (long)(s->end - s->start), MADV_DONTNEED, 0, 0, 0);
	for (const struct span *s; (s = spans_next(&of[LEFT_OUT], NULL, 0, 0, UINT64_MAX));)
		memory_unmap(s->start, s->end - s->start); /* and it is out of the list */
}

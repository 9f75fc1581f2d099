#include "answer/hook_calls.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "answer/distribution.h"
#include "base/guarded_copy.h"
#include "base/user.h"
#include "include/rdb.h"

#define A(i) (ev->args[i])

static uint64_t up(uint64_t at)
{
	return (at + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
}

static long data(struct event *ev)
{
	char name[256] = "RDB_DATA_";
	size_t len = strlen(name);
	do {
		if (len == sizeof(name) - 1 || user_read(&name[len], A(2) + len - strlen("RDB_DATA_"), 1))
			return -EFAULT;
	} while (name[len++]);
	const char *value = getenv(name);
	if (!value)
		return -ENOENT;
	len = strlen(value) + 1;
	const size_t n = len < A(4) ? len : A(4);
	if (n && user_write(A(3), value, n))
		return -EFAULT;
	event_out(ev, (void *)A(3), n);
	return (long)len - 1;
}

static bool room(void)
{
	for (unsigned i = 0; i < EXCLUDED; i++)
		if (lower.upper.excluded[i].start == lower.upper.excluded[i].end)
			return true;
	return false;
}

long hook_answered(struct event *ev)
{
	switch (A(1)) {
	case RDB_HOOKS_USED: return 0;
	case RDB_HOOKS_POINT: return lower.mode->point && lower.mode->point();
	case RDB_HOOKS_TAKE:
	case RDB_HOOKS_FAILED:
		if (lower.mode->called)
			lower.mode->called(A(1) == RDB_HOOKS_TAKE);
		return 0;
	case RDB_HOOKS_GENERATION: return lower.upper.generation;
	case RDB_HOOKS_EXCLUDE:
		return !RDB_IS_UPPER(A(2)) || A(3) > RDB_UPPER_END - A(2) ? -EFAULT : room() ? 0 : -ENOMEM;
	case RDB_HOOKS_INCLUDE: return 0;
	case RDB_HOOKS_DATA: return data(ev);
	case RDB_HOOKS_IGNORED:
		rdb_warn("rank %d: a callback after the %s has failed; the program goes on", lower.opt.rank,
			 A(3) == RDB_AFTER_RESTART ? "restart" : "checkpoint");
		return 0;
	case RDB_HOOKS_DISTRIBUTE: return distribute_answered(ev);
	case RDB_HOOKS_REDISTRIBUTE: return redistribute_answered(ev);
	default: return -EINVAL;
	}
}

static void exclude(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; start < end && i < EXCLUDED; i++)
		if (lower.upper.excluded[i].start == lower.upper.excluded[i].end) {
			lower.upper.excluded[i].start = start;
			lower.upper.excluded[i].end = end;
			return;
		}
}

void excluded_unmapped(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < EXCLUDED; i++)
		if (lower.upper.excluded[i].start < end && start < lower.upper.excluded[i].end)
			lower.upper.excluded[i].end = lower.upper.excluded[i].start;
}

void hook_done(const struct event *ev)
{
	if (ev->result)
		return;
	if (A(1) == RDB_HOOKS_USED)
		lower.upper.hooked = 1;
	else if (A(1) == RDB_HOOKS_EXCLUDE)
		exclude(up(A(2)), (A(2) + A(3)) & ~(RDB_PAGE - 1));
	else if (A(1) == RDB_HOOKS_INCLUDE)
		excluded_unmapped(up(A(2)), up(A(2)) + 1);
	else if (A(1) == RDB_HOOKS_DISTRIBUTE)
		distribute_done(ev);
}

void excluded_drop(void)
{
	for (unsigned i = 0; i < EXCLUDED; i++) {
		const uint64_t start = lower.upper.excluded[i].start, len = lower.upper.excluded[i].end - start;
		if (len)
			madvise((void *)start, len, MADV_DONTNEED); /* if it fails, the image is larger */
	}
}

/* Pages that are zero stay untouched, so that they take no memory. */
static void make_zero(void *page)
{
	const uint64_t *word = page;
	for (unsigned i = 0; i < RDB_PAGE / sizeof(*word); i++)
		if (word[i]) {
			memset(page, 0, RDB_PAGE);
			return;
		}
}

void excluded_zero(void)
{
	for (unsigned i = 0; i < EXCLUDED; i++)
		for (uint64_t at = lower.upper.excluded[i].start; at < lower.upper.excluded[i].end; at += RDB_PAGE)
			guarded_call(make_zero, (void *)at);
}

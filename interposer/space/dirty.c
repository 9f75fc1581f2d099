#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/pagemap_scan.h"
#include "space/arena.h"
#include "space/shared_memory.h"
#include "space/dirty.h"

enum {
	SCAN_PROTECT = 1, /* PM_SCAN_WP_MATCHING */
	SCAN_CHECK = 2,   /* PM_SCAN_CHECK_WPASYNC */
	SCAN_WRITTEN = 2, /* PAGE_IS_WRITTEN */
	FEATURES = 1 << 15 /* WP_ASYNC */ | 1 << 13 /* WP_UNPOPULATED */,
	USER_MODE_ONLY = 1, /* needs no privilege; asynchronous protection is lifted by the kernel's writes too */
	REGIONS = 2048,
	PIECE = 2 << 20, /* of memory: one page of page-table entries */
	LARGE = 1 << 30,
};

static struct {
	int fd;            /* 0: not tried yet, -1: not available */
	struct table owed; /* reported by dirty_look(), but not yet by dirty_collect() */
} dirty;

static int open_tracking(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
	if (dirty.fd)
		return dirty.fd < 0 ? -ENOSYS : 0;
	int fd = (int)raw_syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY, 0, 0, 0, 0, 0);
	if (fd >= 0 && raw_syscall(SYS_ioctl, fd, (long)UFFDIO_API, (long)&api, 0, 0, 0)) {
		close(fd);
		fd = -1;
	}
	dirty.fd = fd < 0 ? -1 : lower_fd(fd);
	return dirty.fd < 0 ? -ENOSYS : 0;
}

struct walk {
	struct table *out;
	int pagemap;
};

static int add(struct table *t, uint64_t start, uint64_t end)
{
	struct dirty_range *last = t->len ? (void *)(t->base + t->len - sizeof(*last)) : NULL;
	if (last && last->end == start) {
		last->end = end;
		return 0;
	}
	struct dirty_range d = {start, end};
	return table_add(t, &d, sizeof(d));
}

static uint64_t piece_end(const struct mapping *m, uint64_t at)
{
	const uint64_t end = (at + PIECE) & ~(uint64_t)(PIECE - 1);
	return end < m->end ? end : m->end;
}

/* Of a watched page the kernel keeps a page-table entry, touched or not.  A large mapping that is mostly untouched, such as
 * the 14 TiB of AddressSanitizer, is not watched. */
static bool is_sparse(const struct mapping *m, int pagemap)
{
	const uint64_t many = (m->end - m->start) / PIECE / 8;
	uint64_t n = 0;
	if (m->end - m->start < LARGE)
		return false;
	for (uint64_t at = m->start; n < many && (at = pagemap_next(pagemap, at, m->end)) < m->end;
	     at = piece_end(m, at))
		n++;
	return n < many;
}

/* All that is there counts as written to. */
static int add_present(const struct mapping *m, struct walk *w)
{
	int rc = 0;
	for (uint64_t at = m->start, end; !rc && (at = pagemap_next(w->pagemap, at, m->end)) < m->end; at = end) {
		end = piece_end(m, at);
		rc = add(w->out, at, end);
	}
	return rc;
}

static int scan_mapping(const struct mapping *m, void *arg)
{
	static struct scan_region found[REGIONS];
	struct walk *w = arg;
	if (m->shared)
		return 0; /* image_pages.c takes all of it */
	if (shared_within(m->start, m->end))
		return add(w->out, m->start, m->end); /* see dirty_unwatch() */
	if (is_sparse(m, w->pagemap))
		return add_present(m, w);
	struct uffdio_register reg = {
		.range = {.start = m->start, .len = m->end - m->start},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	long rc = raw_syscall(SYS_ioctl, dirty.fd, (long)UFFDIO_REGISTER, (long)&reg, 0, 0, 0);
	if (rc) /* cannot be watched: all of it counts as written to */
		return add(w->out, m->start, m->end);
	for (uint64_t at = m->start; at < m->end;) {
		struct scan s = {
			.size = sizeof(s),
			.flags = SCAN_PROTECT | SCAN_CHECK,
			.start = at,
			.end = m->end,
			.vec = (uint64_t)found,
			.vec_len = REGIONS,
			.category_mask = SCAN_WRITTEN,
			.return_mask = SCAN_WRITTEN,
		};
		long n = raw_syscall(SYS_ioctl, w->pagemap, (long)SCAN, (long)&s, 0, 0, 0);
		if (n < 0)
			return (int)n;
		for (long i = 0; i < n; i++) {
			int failed = add(w->out, found[i].start, found[i].end);
			if (failed)
				return failed;
		}
		if (s.walk_end <= at)
			break;
		at = s.walk_end;
	}
	return 0;
}

static int collect(struct table *t)
{
	int rc = open_tracking();
	if (rc)
		return rc;
	struct walk w = {.out = t, .pagemap = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY, 0)};
	rc = w.pagemap < 0 ? w.pagemap : arena_each(scan_mapping, &w);
	if (w.pagemap >= 0)
		close(w.pagemap);
	if (rc) {
		/* some pages may have been reset already */
		dirty_forget();
		dirty.fd = -1;
	}
	return rc;
}

int dirty_look(struct table *t)
{
	const size_t before = t->len;
	const int rc = collect(t);
	if (rc || t->len == before)
		return rc;
	return table_add(&dirty.owed, t->base + before, t->len - before);
}

static int by_start(const void *a, const void *b)
{
	const struct dirty_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

int dirty_collect(struct table *t)
{
	const size_t before = t->len;
	struct table all = dirty.owed;
	if (!all.len)
		return collect(t);
	dirty.owed = (struct table){0};
	const int rc = collect(&all);
	struct dirty_range *d = (void *)all.base;
	const size_t n = all.len / sizeof(*d);
	int failed = rc;
	qsort(d, n, sizeof(*d), by_start);
	for (size_t i = 0; i < n && !failed; i++) {
		struct dirty_range *last = t->len > before ? (void *)(t->base + t->len - sizeof(*last)) : NULL;
		if (!last || last->end < d[i].start)
			failed = table_add(t, &d[i], sizeof(d[i]));
		else if (last->end < d[i].end)
			last->end = d[i].end;
	}
	table_drop(&all);
	return failed;
}

void dirty_unwatch(uint64_t start, uint64_t end)
{
	struct uffdio_range range = {.start = start, .len = end - start};
	if (dirty.fd > 0)
		raw_syscall(SYS_ioctl, dirty.fd, (long)UFFDIO_UNREGISTER, (long)&range, 0, 0, 0);
}

void dirty_forget(void)
{
	if (dirty.fd > 0)
		close(dirty.fd);
	dirty.fd = 0;
	dirty.owed.len = 0;
}

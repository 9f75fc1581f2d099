#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "space/ends.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/dirty.h"
#include "base/descriptors.h"
#include "base/guarded_copy.h"
#include "base/pagemap_scan.h"
#include "space/device_memory.h"
#include "image/image_pages.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/shared_shadows.h"

enum { BATCH = 512, FEW = 16, SOURCES = 16 };

/* An image that may hold pages in their present state, with its data mapped. */
struct source {
	bool open;
	struct image_file file;
	const uint8_t *data;
};

struct collect {
	const struct image_plan *plan;
	struct table *regions, *runs;
	int pagemap;
	uint32_t base;
	bool incremental;
	struct image_file before;
	uint64_t before_at; /* current index in its runs */
	size_t dirty_at;    /* offset in the table of dirty ranges */
	struct source sources[SOURCES];
	unsigned nsources;
};

const void *image_content(uint64_t at)
{
	const void *logged = shared_regions ? shared_as_logged(at) : NULL;
	return logged ? logged : (const void *)at;
}

static bool continues(const struct image_run *run, uint64_t at)
{
	return run->addr + run->len == at &&
	       (const char *)image_content(run->addr) + run->len == (const char *)image_content(at);
}

static int add_page(struct collect *c, uint64_t at, uint32_t image, bool own)
{
	struct image_run *last = c->runs->len ? (void *)(c->runs->base + c->runs->len - sizeof(*last)) : NULL;
	bool room = image != c->plan->number || (last && last->len < IMAGE_RUN_MAX);
	if (image < c->base)
		c->base = image;
	if (last && last->image == image && last->own == own && continues(last, at) && room) {
		last->len += RDB_PAGE;
		return 0;
	}
	struct image_run run = {.addr = at, .len = RDB_PAGE, .image = image, .own = own};
	return table_add(c->runs, &run, sizeof(run));
}

/* The image with this page's data when the last image was taken; -1: none, the page was as the region has it. */
static int64_t holder(struct collect *c, uint64_t at)
{
	const struct image_run *run = c->before.runs;
	while (c->before_at < c->before.nruns && run[c->before_at].addr + run[c->before_at].len <= at)
		c->before_at++;
	if (c->before_at == c->before.nruns || run[c->before_at].addr > at)
		return -1;
	return run[c->before_at].image;
}

static bool known_dirty(struct collect *c, uint64_t at)
{
	const struct table *t = c->plan->dirty;
	const struct dirty_range *d = NULL;
	for (; c->dirty_at < t->len; c->dirty_at += sizeof(*d)) {
		d = (const void *)(t->base + c->dirty_at);
		if (d->end > at)
			return d->start <= at;
	}
	return false;
}

static struct source *source_of(struct collect *c, uint32_t image)
{
	struct source *s = c->sources;
	for (; s < c->sources + c->nsources; s++)
		if (s->file.header && s->file.header->number == image)
			return s;
	if (c->nsources == SOURCES || image_open(&s->file, image, false))
		return NULL;
	void *p = mmap(NULL, s->file.header->file_len, PROT_READ, MAP_PRIVATE, s->file.fd, 0);
	if (p == MAP_FAILED) {
		image_close(&s->file);
		return NULL;
	}
	s->data = p;
	c->nsources++;
	return s;
}

/* Used when written pages are not known: does that image hold the page's present contents?  An image with compressed
 * data is not asked: it belongs to an older chain, or written pages were known when it was written. */
static bool same_page(struct collect *c, uint64_t at, uint32_t image)
{
	const struct source *s = source_of(c, image);
	uint64_t i = s ? image_find(&s->file, at) : 0;
	if (!s || i == s->file.nruns)
		return false;
	const struct image_run *run = &s->file.runs[i];
	if (run->addr > at || run->image != image || run->stored != run->len)
		return false;
	return !memcmp(image_content(at), s->data + run->off + (at - run->addr), RDB_PAGE);
}

static int take_page(struct collect *c, uint64_t at, bool over_file, bool shared, bool own)
{
	int64_t had = c->incremental ? holder(c, at) : -1;
	bool tracked = c->incremental && c->plan->dirty && !shared && !device_page(at); /* dirty.h does not see a
											 * device's writes */
	if (tracked && !known_dirty(c, at))
		return had < 0 ? 0 : add_page(c, at, (uint32_t)had, own);
	if (!over_file && !own && page_is_zero(image_content(at)))
		return 0;
	if (!tracked && had >= 0 && same_page(c, at, (uint32_t)had))
		return add_page(c, at, (uint32_t)had, own);
	return add_page(c, at, c->plan->number, own);
}

static void look(void *arg)
{
	const struct image_region *r = arg;
	for (uint64_t at = r->start; at < r->end; at += RDB_PAGE)
		*(volatile const char *)at;
}

/* proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped, 61 file page or shared (not yet copied on write) */
static int take_region(struct collect *c, const struct image_region *r)
{
	bool readable = r->prot & PROT_READ, shared = r->shared, follows = r->shared == IMAGE_FOLLOWS;
	if (shared && coordinating())
		return 0; /* kept while nobody wrote to it: windows by the MPI plug-in, the rest by
			   * restart/memory/own_shared.c */
	const bool logged = shared && !follows && shared_as_logged(r->start);
	/* maps pages that are not present; fails beyond the end of a file, and before Linux 5.14 */
	if (shared && !follows && !logged && madvise((void *)r->start, r->end - r->start, 22 /* MADV_POPULATE_READ */))
		guarded_call(look, (void *)r);
	for (uint64_t at = r->start; at < r->end;) {
		const uint64_t most = logged ? FEW : BATCH;
		uint64_t e[BATCH], n = (r->end - at) / RDB_PAGE < most ? (r->end - at) / RDB_PAGE : most;
		uint64_t next;
		const uint64_t zeros = logged ? shared_zero_until(at) : at;
		if (zeros > at) {
			at = zeros;
			continue;
		}
		if (!follows && !logged && (next = pagemap_next(c->pagemap, at, r->end)) > at) {
			at = next;
			continue;
		}
		if (pread(c->pagemap, e, n * 8, (off_t)(at / RDB_PAGE * 8)) != (ssize_t)(n * 8))
			return -EIO;
		for (uint64_t i = 0; i < n; i++, at += RDB_PAGE) {
			bool here = e[i] >> 62, of_file = e[i] >> 61 & 1;
			if (!follows && !logged && (!here || (r->key[0] && of_file)))
				continue;
			if (!readable && mprotect((void *)r->start, r->end - r->start, PROT_READ))
				return -errno;
			readable = true;
			int rc = take_page(c, at, r->key[0], shared, follows && here && !of_file);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int add_regions(const struct mapping *m, void *arg)
{
	struct collect *c = arg;
	int rc = 0;
	for (uint64_t at = m->start; at < m->end && !rc;) {
		/* shared memory, of any file, is saved by contents */
		const struct file_mapping *f = m->anonymous || m->shared ? NULL : arena_file_at(at);
		struct image_region r = {.start = at, .end = m->end, .prot = (uint32_t)m->prot, .shared = m->shared};
		int prot;
		if (ends_at(at, &prot)) /* a replay has zeros there until a LOG_ENDS */
			r.prot = (uint32_t)prot;
		const uint64_t follows = m->anonymous || m->shared ? 0 : shared_followed_until(at);
		if (follows) {
			r.shared = IMAGE_FOLLOWS;
			r.end = follows < r.end ? follows : r.end;
		} else if (f) {
			if (f->end < r.end)
				r.end = f->end;
			r.offset = f->offset + (at - f->start);
			memcpy(r.key, f->key, sizeof(r.key));
		} else if (!m->anonymous && !m->shared) {
			return -ENXIO; /* a file mapping that we do not know */
		}
		if (r.shared) {
			r.dev = alias_dev(m->dev, shared_kind_at(at));
			r.ino = m->inode;
			r.object_offset = m->offset + (at - m->start);
		}
		rc = table_add(c->regions, &r, sizeof(r));
		at = r.end;
	}
	return rc;
}

int image_pages(const struct image_plan *plan, struct table *regions, struct table *runs, uint32_t *base)
{
	static struct collect c; /* too large for the stack */
	memset(&c, 0, sizeof(c));
	c.plan = plan;
	c.regions = regions;
	c.runs = runs;
	c.base = plan->number;
	if (plan->incremental) {
		int rc = image_open(&c.before, plan->number - 1, false);
		if (rc)
			return -ESTALE;
		c.incremental = true;
	}
	c.pagemap = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY, 0);
	int rc = c.pagemap < 0 ? c.pagemap : arena_each(add_regions, &c);
	size_t n = regions->len / sizeof(struct image_region);
	for (size_t i = 0; i < n && !rc; i++)
		rc = take_region(&c, (const struct image_region *)regions->base + i);
	if (c.pagemap >= 0)
		close(c.pagemap);
	for (unsigned i = 0; i < c.nsources; i++) {
		munmap((void *)c.sources[i].data, c.sources[i].file.header->file_len);
		image_close(&c.sources[i].file);
	}
	if (c.incremental)
		image_close(&c.before);
	*base = c.base;
	return rc;
}

void image_pages_protect(const struct table *regions)
{
	const struct image_region *r = (const void *)regions->base;
	for (; (const uint8_t *)r < regions->base + regions->len; r++)
		if (!(r->prot & PROT_READ))
			mprotect((void *)r->start, r->end - r->start, (int)r->prot);
}

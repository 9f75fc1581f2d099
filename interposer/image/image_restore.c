#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "space/aliases.h"
#include "space/arena.h"
#include "arch/context.h"
#include "text/hot_stubs.h"
#include "image/image.h"
#include "image/image_pack.h"
#include "space/mapping.h"

enum { MAP_RUN = 16 * 4096, /* bytes; shorter runs are read, not mapped */ SOURCES = 64 };

/* A row of pages that are contiguous in one file and in memory, not yet mapped. */
struct piece {
	uint64_t addr, len, off;
	int fd;
};

static struct {
	struct context running;           /* registers of the running thread */
	struct image_file files[SOURCES]; /* the image itself, and images with data for it */
	unsigned nfiles;
	struct piece waiting;
	uint8_t *buffer;                  /* for one compressed run */
	const struct image_run *unpacked; /* which is in it: the next part is often one of the same */
} restore;

static int map_regions(const struct image_file *f)
{
	const struct image_region *r = f->regions;
	for (uint64_t i = 0; i < f->nregions; i++, r++) {
		/* written to below: the real protection is set last */
		int prot = PROT_READ | PROT_WRITE | (int)(r->prot & PROT_EXEC);
		long rc = 0;
		if (r->key[0]) {
			rc = memory_map_stored(r->start, r->end - r->start, prot, r->key, r->offset);
		} else {
			void *p = mmap((void *)r->start, r->end - r->start, prot,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
			rc = p == MAP_FAILED ? -errno : 0;
			if (!rc && serving())
				madvise(p, r->end - r->start, MADV_HUGEPAGE); /* makes snapshots by fork cheap */
		}
		if (rc) {
			if (rc == -EBADMSG)
				return -EBADMSG; /* already said */
			rdb_warn("%s: cannot map %#lx-%#lx%s%s: %s", f->path, (unsigned long)r->start,
				 (unsigned long)r->end, r->key[0] ? " from " : "", r->key, strerror((int)-rc));
			return (int)rc;
		}
	}
	return 0;
}

static int load(const struct piece *p)
{
	/* a program that becomes live gets anonymous memory, as it had when recorded */
	if (p->len >= MAP_RUN && !lower.opt.restart)
		return mmap((void *)p->addr, p->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, p->fd,
			    (off_t)p->off) == MAP_FAILED
			       ? -errno
			       : 0;
	for (uint64_t done = 0; done < p->len;) {
		ssize_t n = pread(p->fd, (void *)(p->addr + done), p->len - done, (off_t)(p->off + done));
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (uint64_t)n;
	}
	return 0;
}

/* Merges adjacent rows, which are mapped at once. */
static int load_later(uint64_t addr, uint64_t len, int fd, uint64_t off)
{
	struct piece *w = &restore.waiting;
	int rc = 0;
	if (w->len && w->fd == fd && w->addr + w->len == addr && w->off + w->len == off) {
		w->len += len;
		return 0;
	}
	if (w->len)
		rc = load(w);
	*w = (struct piece){.addr = addr, .len = len, .off = off, .fd = fd};
	return rc;
}

/* Loads [addr, addr + len) from a run that holds it. */
static int load_part(const struct image_file *f, const struct image_run *run, uint64_t addr, uint64_t len)
{
	if (run->stored == run->len)
		return load_later(addr, len, f->fd, run->off + (addr - run->addr));
	if (addr == run->addr && len == run->len)
		return image_unpack(f, run, (void *)addr);
	if (!restore.buffer) {
		void *p = mmap(NULL, IMAGE_RUN_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		restore.buffer = p;
	}
	int rc = restore.unpacked == run ? 0 : image_unpack(f, run, restore.buffer);
	restore.unpacked = rc ? NULL : run;
	if (!rc)
		memcpy((void *)addr, restore.buffer + (addr - run->addr), len);
	return rc;
}

/* The opened file of an image with data for ours; the last one used is the likeliest. 0 or -errno. */
static int source_of(uint32_t image, bool check, struct image_file **out)
{
	for (unsigned i = restore.nfiles; i--;) {
		*out = &restore.files[i];
		if ((*out)->header->number == image)
			return 0;
	}
	if (restore.nfiles == SOURCES)
		return -E2BIG;
	*out = &restore.files[restore.nfiles];
	int rc = image_open(*out, image, true);
	if (!rc)
		restore.nfiles++;
	return rc || !check ? rc : image_check_pages(*out);
}

static int load_run(const struct image_file *own, const struct image_run *run, bool check)
{
	struct image_file *f;
	if (run->image == own->header->number)
		return load_part(own, run, run->addr, run->len);
	int rc = source_of(run->image, check, &f);
	uint64_t at = run->addr, end = run->addr + run->len;
	for (uint64_t i = rc ? 0 : image_find(f, at); at < end && !rc; i++) {
		const struct image_run *have = &f->runs[i];
		if (i == f->nruns || have->addr > at || have->image != run->image) {
			rdb_warn("%s: it lacks page %#lx, to which %s refers", f->path, (unsigned long)at, own->path);
			return -EBADMSG;
		}
		uint64_t until = have->addr + have->len < end ? have->addr + have->len : end;
		rc = load_part(f, have, at, until - at);
		at = until;
	}
	return rc;
}

/* Pages that were one page at several addresses become one again. */
static void join_regions(const struct image_file *f)
{
	const struct image_region *r = f->regions;
	uint64_t nown = 0, (*own)[2] = NULL;
	for (uint64_t i = 0; i < f->nruns; i++)
		nown += f->runs[i].own;
	if (nown && !(own = malloc(nown * sizeof(*own))))
		rdb_fatal("out of memory for an image");
	nown = 0;
	for (uint64_t i = 0; i < f->nruns && own; i++)
		if (f->runs[i].own) {
			own[nown][0] = f->runs[i].addr;
			own[nown++][1] = f->runs[i].addr + f->runs[i].len;
		}
	for (uint64_t i = 0; i < f->nregions && !lower.opt.from_image; i++, r++) {
		const struct alias a = {.start = r->start,
					.end = r->end,
					.dev = r->dev,
					.ino = r->ino,
					.offset = r->object_offset,
					.follows = r->shared == IMAGE_FOLLOWS,
					.fresh = true,
					.own = own ? own[0] : NULL,
					.nown = nown};
		if (r->shared)
			aliases_add(&a);
	}
	free(own);
}

static int protect_regions(const struct image_file *f)
{
	const struct image_region *r = f->regions;
	for (uint64_t i = 0; i < f->nregions; i++, r++)
		if (mprotect((void *)r->start, r->end - r->start, (int)r->prot))
			return -errno;
	return 0;
}

int image_restore(unsigned number, bool check_pages, uint32_t *segment, uint64_t *off)
{
	struct image_file *f = &restore.files[0];
	int rc = image_open(f, number, true);
	if (rc)
		return rc;
	restore.nfiles = 1;
	if (check_pages)
		rc = image_check_pages(f);
	const struct image_header *h = f->header;
	memcpy(&lower.upper, f->map + h->sections[IMAGE_STATE].off, sizeof(lower.upper));
	if (!rc)
		rc = image_threads->put((const void *)(f->map + h->sections[IMAGE_THREADS].off),
					h->sections[IMAGE_THREADS].count, &restore.running);
	if (!rc)
		rc = map_regions(f);
	for (uint64_t i = 0; i < f->nruns && !rc; i++)
		rc = load_run(f, &f->runs[i], check_pages);
	if (!rc && restore.waiting.len)
		rc = load(&restore.waiting);
	if (!rc)
		join_regions(f);
	if (!rc)
		rc = protect_regions(f);
	if (!rc)
		rc = hot_stubs_shorten();
	lower.event = h->event;
	lower.started = true;
	*segment = h->log_segment;
	*off = h->log_off;
	for (unsigned i = 0; i < restore.nfiles; i++)
		image_close(&restore.files[i]);
	if (restore.buffer)
		munmap(restore.buffer, IMAGE_RUN_MAX);
	return rc;
}

int image_check(unsigned number)
{
	struct image_file *f = &restore.files[0], *other;
	int rc = image_open(f, number, true);
	if (rc)
		return rc;
	restore.nfiles = 1;
	rc = image_check_pages(f);
	for (uint64_t i = 0; i < f->nruns && !rc; i++)
		rc = source_of(f->runs[i].image, true, &other);
	return rc;
}

void image_registers(ucontext_t *uc)
{
	context_load(uc, &restore.running);
}

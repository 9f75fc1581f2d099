#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/cautions.h"
#include "space/dirty.h"
#include "space/ends.h"
#include "space/followed.h"
#include "space/shared_memory.h"
#include "space/shared_outsiders.h"
#include "space/shared_shadows.h"
#include "space/store.h"

/* Notes its own pages, which a replay needs to make aliases (aliases.h). */
static void note_follows(struct event *ev, const struct region *r)
{
	bool own[SHADOW_BATCH / RDB_PAGE];
	uint64_t n = 0, *pages = (uint64_t *)shadow_memory(sizeof(struct rdb_note_follows) +
							   (r->end - r->start) / RDB_PAGE * 16);
	struct rdb_note_follows *note = (void *)pages;
	*note = (struct rdb_note_follows){{r->start, r->end, r->dev, r->ino, r->offset, (uint64_t)r->kind}};
	pages = (uint64_t *)(note + 1);
	for (uint64_t off = 0; off < r->end - r->start; off += SHADOW_BATCH) {
		aliases_own_pages(r->start + off, region_batch(r, off) / RDB_PAGE, own);
		for (uint64_t p = 0; p < region_batch(r, off) / RDB_PAGE; p++) {
			const uint64_t at = r->start + off + p * RDB_PAGE;
			if (!own[p])
				continue;
			if (!n || pages[n - 1] != at) {
				pages[n++] = at;
				pages[n++] = at;
			}
			pages[n - 1] = at + RDB_PAGE;
		}
	}
	event_note(ev, RDB_NOTE_FOLLOWS, note, sizeof(*note) + n * 8);
	munmap(note, sizeof(*note) + (r->end - r->start) / RDB_PAGE * 16);
}

/* Finds the object of the mapping.  The memory map has it, but reading it takes longer the more mappings there are. */
static void name_object(struct region *made, const struct stat *st)
{
	const uint64_t dev = (uint64_t)major(st->st_dev) << 20 | minor(st->st_dev);
	const struct region *o = region_of_file(st, NULL, 0, UINT64_MAX);
	struct mapping m;
	/* not for file systems whose numbers differ in the map */
	if (o && o->dev == dev && o->ino == st->st_ino) {
		made->dev = o->dev;
		made->ino = o->ino;
	} else if (arena_mapping_at(made->start, &m)) {
		made->dev = m.dev;
		made->ino = m.inode;
		made->offset = m.offset + (made->start - m.start);
	}
}

/* The file is sharing.given by fd, or by a former region `was`. */
static struct region *new_region(struct region made, int fd, const struct region *was)
{
	struct stat st = {0};
	if (was) {
		made.dev = was->dev;
		made.ino = was->ino;
		made.file_dev = was->file_dev;
		made.file_ino = was->file_ino;
		made.mpi_writes = was->mpi_writes;
	} else if (fd >= 0 && !fstat(fd, &st)) {
		made.file_dev = st.st_dev;
		made.file_ino = st.st_ino;
		made.mpi_writes = followed_mpi_writes(&st);
	}
	if (!was)
		name_object(&made, &st);
	made.seen = !made.follows && region_others_show_all(&made);
	struct region *r = spans_new(&region_table, &made);
	if (!r)
		mappings_no_memory();
	return r;
}

/* made: address, kind and offset in the file. */
static void adopt(struct event *ev, struct region made, int fd, const struct region *was)
{
	const uint64_t at = made.start;
	const size_t len = made.end - at;
	if (!recording())
		return;
	/* mremap(2): an old size of zero makes a second mapping of the same pages.  Not used for System V memory: its
	 * count of attachments is visible to all. */
	long alias = (long)at;
	if (made.kind != SHARED_SYSV)
		alias = raw_syscall(SYS_mremap, (long)at, 0, (long)len, MREMAP_MAYMOVE, 0, 0);
	if (alias < 0 || (alias != (long)at && raw_syscall(SYS_mprotect, alias, (long)len, PROT_READ, 0, 0, 0)))
		rdb_fatal("shared memory at %#lx cannot be mapped a second time", (unsigned long)at);
	made.alias = (char *)alias;
	struct region *r = new_region(made, fd, was);
	const struct object_part all = {r->dev, r->ino, 0, UINT64_MAX};
	for (struct region *o = NULL; ev && sharing.followers && (o = region_of_object(&all, FOLLOWS, o));)
		note_follows(ev, o);
	if (ev) {
		const struct rdb_note_shared_of of = {at, at + len, r->dev, r->ino, r->offset, (uint64_t)r->kind};
		event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){at, at + len}, 16);
		event_note(ev, RDB_NOTE_SHARED_OF, &of, sizeof(of));
	}
	if (!r->seen || was) /* else what others show is logged with them, and a replay maps it a second time */
		region_copy(r, fd, ev);
	if (r->seen || (r->kind == SHARED_ANONYMOUS && !sharing.relatives)) {
		if (r->shadow)
			shared_retire(r->shadow, len); /* nobody else has it, or another region is compared */
		region_set_shadow(r, NULL);
	}
	region_caution(r);
}

void shared_adopt(struct event *ev, uint64_t at, size_t len, int kind)
{
	adopt(ev, (struct region){.start = at, .end = at + len, .kind = kind}, -1, NULL);
}

static int adopt_mapped(const struct mapping *m, void *arg)
{
	int (*const *kind_of)(uint64_t start) = arg;
	sharing.forked |= m->shared; /* as the program before */
	if (m->shared)
		shared_adopt(NULL, m->start, m->end - m->start, (*kind_of)(m->start));
	return 0;
}

void shared_adopt_mapped(int (*kind_of)(uint64_t start))
{
	if (!recording())
		return;
	arena_each(adopt_mapped, &kind_of);
	if (sharing.keys_due)
		caution("until its first event this process does not take turns with others that share memory with it: a "
			"replay may differ if the program reads before what they store");
}

static bool is_sparse(int flags, int fd)
{
	struct statfs fs;
	return flags & MAP_ANONYMOUS || (!fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC);
}

void shared_mpi_writes(const struct stat *st)
{
	for (struct region *r = NULL; (r = region_of_file(st, r, 0, UINT64_MAX));) {
		if (!r->shadow)
			continue;
		region_set_mpi_writes(r);
		region_caution(r);
	}
}

/* A descriptor for reading only of what may be sealed, else -1. */
static int reader(int fd)
{
	char link[32];
	const int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || seals == F_SEAL_SEAL)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return descriptor_open(AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
}

/* A second mapping of the file, which stores of the program do not change.  One that could be made writable would
 * forbid F_SEAL_WRITE (mm/memfd.c, mapping_deny_writable), or be forbidden by it. */
static long map_file(size_t len, int fd, uint64_t offset)
{
	const int reads = reader(fd);
	const long at = raw_syscall(SYS_mmap, 0, (long)len, PROT_READ, MAP_SHARED | MAP_NORESERVE,
				    reads < 0 ? fd : reads, (long)offset);
	if (reads >= 0)
		close(reads);
	return at;
}

long shared_map(struct event *ev, uint64_t at, size_t len, int prot, int flags, int fd, uint64_t offset)
{
	const bool follows = flags & MAP_PRIVATE;
	const long alias = follows ? map_file(len, fd, offset) : 0;
	if (alias < 0)
		return alias;
	long rc = raw_syscall(SYS_mmap, (long)at, (long)len, prot, flags | MAP_FIXED | MAP_NORESERVE, fd, (long)offset);
	if (rc < 0) {
		if (follows)
			munmap((void *)alias, len);
		return rc;
	}
	shared_unmapped(at, at + len);
	arena_unmapped(at, at + len);
	struct region made = {.start = at, .end = at + len, .offset = offset, .follows = follows};
	if (!follows) {
		followed_mapped(ev, fd);
		const bool anonymous = flags & MAP_ANONYMOUS;
		made.kind = anonymous ? SHARED_ANONYMOUS : shared_kind_of(fd);
		made.sparse = is_sparse(flags, fd);
		adopt(ev, made, anonymous ? -1 : fd, NULL);
		return 0;
	}
	made.alias = (char *)alias;
	made.kind = shared_kind_of(fd);
	struct region *r = new_region(made, fd, NULL);
	note_follows(ev, r);
	region_copy(r, fd, ev);
	region_caution(r);
	return 0;
}

struct tail {
	const struct file_mapping *f;
	uint64_t start;
	int fd;
};

static int map_tail(const struct mapping *m, void *arg)
{
	const struct tail *t = arg;
	const uint64_t start = m->start > t->start ? m->start : t->start, end = m->end < t->f->end ? m->end : t->f->end;
	if (start >= end)
		return 0;
	int prot = m->prot;
	ends_at(start, &prot);
	const long rc = raw_syscall(SYS_mmap, (long)start, (long)(end - start), prot,
				    MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, t->fd,
				    (long)(t->f->offset + (start - t->f->start)));
	return rc < 0 ? (int)rc : 0;
}

void shared_follow(struct event *ev, const struct file_mapping *f, int fd)
{
	const size_t len = f->end - f->start;
	const long alias = map_file(len, fd, f->offset);
	struct stat st;
	const int stored = store_open(f->key);
	if (alias < 0 || stored < 0 || fstat(stored, &st))
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	const struct region made = {.start = f->start,
				    .end = f->end,
				    .offset = f->offset,
				    .alias = (char *)alias,
				    .kind = shared_kind_of(fd),
				    .follows = true};
	struct region *r = new_region(made, fd, NULL);
	dirty_unwatch(f->start, f->end);
	/* the shadow is what a replay has: the stored copy, and zeros beyond its end */
	const uint64_t size = (uint64_t)st.st_size, left = size > f->offset ? size - f->offset : 0;
	region_set_shadow(r, shadow_memory(len));
	region_shadowed(r, 0, left);
	if (left && pread(stored, r->shadow, left < len ? left : len, (off_t)f->offset) < 0)
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	close(stored);
	/* replace the zeros beyond the former end of the file */
	struct tail tail = {f, f->start + ((left + RDB_PAGE - 1) & ~(RDB_PAGE - 1)), fd};
	if (arena_each_in(tail.start, f->end, map_tail, &tail))
		rdb_fatal("rdb cannot track changes of the file that is mapped at %#lx", (unsigned long)f->start);
	ends_of_file(f->start, f->end);
	note_follows(ev, r);
	region_caution(r);
}

/* `was` begins with the same page of the file. */
static void note_new(struct event *ev, uint64_t at, size_t len, const struct region *was, long alias)
{
	const struct region made = {.start = at,
				    .end = at + len,
				    .offset = was->offset,
				    .alias = (char *)alias,
				    .kind = was->kind,
				    .follows = true};
	struct region *r = new_region(made, -1, was);
	note_follows(ev, r);
	region_copy(r, -1, ev);
}

/* A second mapping of the region's first pages. */
static long second_alias(const struct region *r, size_t len)
{
	return raw_syscall(SYS_mremap, (long)r->alias, 0, (long)len, MREMAP_MAYMOVE, 0, 0);
}

long shared_move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len, bool keep)
{
	struct region was = *(const struct region *)spans_at(&region_table, old);
	region_table.later(&was.span, old - was.start);
	if (!was.follows) {
		long rc = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0);
		if (rc < 0)
			return rc;
		shared_unmapped(at, at + new_len);
		if (old_len)
			shared_unmapped(old, old + old_len);
		const struct region made = {
			.start = at, .end = at + new_len, .offset = was.offset, .kind = was.kind, .sparse = was.sparse};
		adopt(ev, made, -1, &was);
		return 0;
	}
	const long alias = second_alias(&was, new_len), left = keep ? second_alias(&was, old_len) : 0;
	long rc = alias < 0 ? alias : left < 0 ? left : 0;
	if (!rc)
		rc = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				 MREMAP_MAYMOVE | MREMAP_FIXED | (keep ? MREMAP_DONTUNMAP : 0), (long)at, 0);
	if (rc < 0) {
		if (alias > 0)
			munmap((void *)alias, new_len);
		if (left > 0)
			munmap((void *)left, old_len);
		return rc;
	}
	shared_unmapped(at, at + new_len);
	shared_unmapped(old, old + old_len);
	arena_unmapped(old, old + old_len);
	if (keep) /* the old place shows the file again */
		note_new(ev, old, old_len, &was, left);
	note_new(ev, at, new_len, &was, alias);
	return 0;
}

static const char zeros[RDB_PAGE];

/* From now on r itself is compared, in place of `last`.  Its shadow is taken from those that were compared for it. */
static void look_at(struct region *r, const struct region *last)
{
	char *shadow = last->shadow ? shadow_memory(r->end - r->start) : NULL;
	for (uint64_t at = r->start; shadow && at < r->end; at += RDB_PAGE) {
		const uint64_t offset = r->offset + (at - r->start);
		const struct region *o = offset >= last->offset && offset < region_offset_end(last)
						 ? last
						 : region_other_at(r, offset, LOOKED_AT);
		const char *was = o->shadow + (offset - o->offset);
		if (memcmp(was, zeros, RDB_PAGE))
			memcpy(shadow + (at - r->start), was, RDB_PAGE);
	}
	lines_move(last, r);
	region_unlisted(r);
	r->seen = false;
	region_listed(r);
	region_set_shadow(r, shadow);
	region_shadowed(r, 0, r->end - r->start);
	if (last->mpi_writes)
		region_set_mpi_writes(r);
}

/* Regions that `last` was compared for are now compared themselves. */
static void look_at_others(const struct region *last)
{
	const struct object_part part = {last->dev, last->ino, last->offset, region_offset_end(last)};
	for (uint64_t at = part.from; at < part.to;) {
		struct region *r = region_other_at(last, at, LOOKED_AT), *o;
		if (!r && (r = region_other_at(last, at, SEEN)))
			look_at(r, last);
		if (r) {
			at = region_offset_end(r);
			continue;
		}
		const struct object_part rest = {part.dev, part.ino, at, part.to};
		o = region_of_object(&rest, SEEN, NULL);
		while (o && o->kind != last->kind)
			o = region_of_object(&rest, SEEN, o);
		at = o ? o->offset : part.to;
	}
}

static void gone(struct span *part, void *arg)
{
	struct region *r = (struct region *)part;
	outsiders_before_unmap(r);
	if (region_how(r) == LOOKED_AT)
		look_at_others(r);
	if (r->kind != SHARED_SYSV)
		munmap(r->alias, part->end - part->start);
	if (r->shadow)
		shared_retire(r->shadow, part->end - part->start);
}

void shared_unmapped(uint64_t start, uint64_t end)
{
	aliases_gone(start, end);
	if (spans_cut(&region_table, start, end, gone, NULL))
		mappings_no_memory();
}

uint64_t shared_attached(uint64_t start, uint64_t from, uint64_t *end)
{
	const struct region *first = NULL;
	SPANS_IN(struct region, r, &region_table, start, UINT64_MAX)
	{
		if (r->kind != SHARED_SYSV || r->start - start != r->offset ||
		    (first && (r->dev != first->dev || r->ino != first->ino)))
			continue;
		first = r;
		*end = r->end;
		if (r->start >= from)
			return r->start;
	}
	return 0;
}

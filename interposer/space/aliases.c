#include "space/aliases.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/spans.h"
#include "base/table.h"
#include "space/arena.h"
#include "space/shared_kinds.h"
#include "base/descriptors.h"

enum { BATCH = 512 };

struct range {
	struct span at; /* the alias, by address */
	struct span in; /* by offset in its object */
	struct alias a;
};

/* An object with overlapping ranges: a part of the one memfd. */
struct object {
	struct span name;
	uint64_t dev, ino;
	uint64_t base; /* its offset in the memfd */
};

#define OBJECT_ROOM (1ul << 44)

static void later(struct span *s, uint64_t by);
static void added(struct span *s);
static void taken(struct span *s);

static struct {
	struct spans ranges, in_objects, objects;
	int fd, copy;            /* copy: the memfd for a child; 0: none */
	uint64_t end;            /* offset of the next object */
	struct table given_back; /* offsets of former objects, to be reused */
} al = {
	.ranges = {.size = sizeof(struct range), .later = later, .added = added, .taken = taken},
	.objects = {.size = sizeof(struct object)},
};

unsigned aliases_generation;

static void failed(const char *what, long rc)
{
	rdb_fatal("memory that is mapped at several addresses cannot be %s: %s", what, strerror((int)-rc));
}

uint64_t alias_dev(uint64_t dev, int kind)
{
	return dev | (uint64_t)(kind == SHARED_SYSV) << 63;
}

static bool same_object(const struct alias *a, const struct alias *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

static uint64_t name_of(const struct alias *a)
{
	return span_of_file(a->dev, a->ino);
}

static struct object *object_of(const struct alias *a)
{
	struct object *o = NULL;
	do
		o = spans_next(&al.objects, (struct span *)o, name_of(a), 0, 1);
	while (o && (o->dev != a->dev || o->ino != a->ino));
	return o;
}

/* Mappings that follow do not affect each other: each of the two kinds has its own tree. */
static uint64_t in_tree(const struct alias *a, bool follows)
{
	return name_of(a) ^ (follows ? ~0ul : 0);
}

/* The next range of the same object and kind that shows bytes of [start, end) of it. */
static struct range *next_in(const struct alias *a, bool follows, const struct range *after, uint64_t start,
			     uint64_t end)
{
	struct span *s = after ? (struct span *)&after->in : NULL;
	while ((s = spans_next(&al.in_objects, s, in_tree(a, follows), start, end))) {
		struct range *r = (struct range *)((char *)s - offsetof(struct range, in));
		if (same_object(&r->a, a) && r->a.follows == follows)
			return r;
	}
	return NULL;
}

static void later(struct span *s, uint64_t by)
{
	((struct range *)s)->a.offset += by;
}

static void added(struct span *s)
{
	struct range *r = (struct range *)s;
	r->a.start = s->start;
	r->a.end = s->end;
	r->in = (struct span){
		.start = r->a.offset, .end = r->a.offset + (s->end - s->start), .of = in_tree(&r->a, r->a.follows)};
	spans_add(&al.in_objects, &r->in);
}

static void taken(struct span *s)
{
	spans_take(&al.in_objects, &((struct range *)s)->in);
}

static void no_memory(void)
{
	failed("known", -ENOMEM);
}

static int new_file(void)
{
	int fd = memfd_create("rdb-alias", MFD_CLOEXEC);
	return fd < 0 ? -errno : lower_fd(fd);
}

static struct object *new_object(const struct alias *a)
{
	struct object made = {.name = {.start = 0, .end = 1, .of = name_of(a)}, .dev = a->dev, .ino = a->ino};
	if (!al.fd)
		al.fd = new_file();
	if (al.fd < 0)
		failed("made", al.fd);
	if (al.given_back.len) {
		al.given_back.len -= sizeof(made.base);
		memcpy(&made.base, al.given_back.base + al.given_back.len, sizeof(made.base));
	} else {
		made.base = al.end;
		al.end += OBJECT_ROOM;
	}
	struct object *o = spans_new(&al.objects, &made);
	if (!o)
		no_memory();
	return o;
}

/* Opens /proc/self/mem: the program's protection may forbid a plain access. */
static int memory(int flags)
{
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", flags | O_CLOEXEC, 0);
	if (fd < 0)
		failed("read", fd);
	return fd;
}

static void read_page(int fd, uint64_t addr, uint64_t *page)
{
	if (pread(fd, page, RDB_PAGE, (off_t)addr) != (ssize_t)RDB_PAGE)
		failed("read", -EIO);
}

static void write_page(int fd, uint64_t off, const uint64_t *page)
{
	/* a hole reads as zeros, and copies of it cost nothing */
	const int rc = page_is_zero(page)
			       ? fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, RDB_PAGE)
			       : pwrite(fd, page, RDB_PAGE, (off_t)off) != (ssize_t)RDB_PAGE;
	if (rc)
		failed("filled", -errno);
}

struct mapped {
	const struct alias *a;
	uint64_t base;
	int fd;
};

static int map_part(const struct mapping *m, void *arg)
{
	const struct mapped *to = arg;
	const uint64_t start = m->start > to->a->start ? m->start : to->a->start;
	const uint64_t end = m->end < to->a->end ? m->end : to->a->end;
	if (start >= end)
		return 0;
	const int kind = to->a->follows ? MAP_PRIVATE : MAP_SHARED;
	const long rc = raw_syscall(SYS_mmap, (long)start, (long)(end - start), m->prot,
				    kind | MAP_FIXED | MAP_NORESERVE, to->fd,
				    (long)(to->base + to->a->offset + (start - to->a->start)));
	return rc < 0 ? (int)rc : 0;
}

/* The own pages of a mapping that follows: their addresses, then their bytes. */
struct own {
	uint64_t *pages, *bytes;
	size_t n;
};

void aliases_own_pages(uint64_t at, size_t n, bool *own)
{
	uint64_t e[BATCH];
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	for (size_t want; n; n -= want, at += want * RDB_PAGE) {
		want = n < BATCH ? n : BATCH;
		if (fd < 0 || pread(fd, e, want * 8, (off_t)(at / RDB_PAGE * 8)) != (ssize_t)(want * 8))
			rdb_fatal("/proc/self/pagemap cannot be read, which tells the pages of a private mapping that "
				  "the program has changed");
		/* proc(5), /proc/pid/pagemap: 63 present, 62 swapped, 61 of the file */
		for (size_t i = 0; i < want; i++)
			*own++ = e[i] >> 62 && !(e[i] >> 61 & 1);
	}
	close(fd);
}

static size_t pages_of_its_own(const struct alias *a, uint64_t *pages)
{
	bool own[BATCH];
	size_t n = 0;
	for (uint64_t at = a->start; at < a->end;) {
		const uint64_t left = (a->end - at) / RDB_PAGE, want = left < BATCH ? left : BATCH;
		aliases_own_pages(at, want, own);
		for (uint64_t i = 0; i < want; i++, at += RDB_PAGE)
			if (own[i])
				pages[n++] = at;
	}
	return n;
}

static void keep_own(const struct alias *a, struct own *own)
{
	*own = (struct own){0};
	if (!a->follows)
		return;
	own->pages = malloc((a->end - a->start) / RDB_PAGE * 8);
	if (own->pages && a->placed)
		own->n = pages_of_its_own(a, own->pages);
	for (size_t i = 0; own->pages && !a->placed && i < a->nown; i++)
		for (uint64_t at = a->own[2 * i]; at < a->own[2 * i + 1]; at += RDB_PAGE)
			if (at >= a->start && at < a->end)
				own->pages[own->n++] = at;
	own->bytes = malloc(own->n * RDB_PAGE + 1);
	if (!own->pages || !own->bytes)
		failed("copied", -ENOMEM);
	int fd = memory(O_RDONLY);
	for (size_t i = 0; i < own->n; i++)
		read_page(fd, own->pages[i], own->bytes + i * (RDB_PAGE / 8));
	close(fd);
}

static void put_own(struct own *own)
{
	int fd = memory(O_RDWR);
	for (size_t i = 0; i < own->n; i++)
		if (pwrite(fd, own->bytes + i * (RDB_PAGE / 8), RDB_PAGE, (off_t)own->pages[i]) != (ssize_t)RDB_PAGE)
			failed("written", -EIO);
	close(fd);
	free(own->pages);
	free(own->bytes);
}

static void map(struct alias *a, const struct object *o, int fd, struct own *own)
{
	struct mapped to = {.a = a, .base = o->base, .fd = fd};
	const struct mapping fresh = {.start = a->start, .end = a->end, .prot = PROT_READ | PROT_WRITE};
	const int rc = a->fresh ? map_part(&fresh, &to) : arena_each_in(a->start, a->end, map_part, &to);
	if (rc)
		failed("mapped", rc);
	put_own(own);
	a->placed = true;
}

/* Copies its bytes to the object, and maps it from there. */
static void place(struct alias *a, const struct object *o)
{
	uint64_t page[RDB_PAGE / 8];
	struct own own;
	const uint64_t needed = a->offset + (a->end - a->start);
	const off_t end = (off_t)(o->base + needed);
	if (needed > OBJECT_ROOM)
		failed("made", -EFBIG);
	if (lseek(al.fd, 0, SEEK_END) < end && ftruncate(al.fd, end))
		failed("made", -errno);
	keep_own(a, &own);
	int fd = memory(O_RDONLY);
	for (uint64_t at = a->start, k = 0; at < a->end; at += RDB_PAGE) {
		if (k < own.n && own.pages[k] == at) {
			k++;
			continue;
		}
		read_page(fd, at, page);
		write_page(al.fd, o->base + a->offset + (at - a->start), page);
	}
	close(fd);
	map(a, o, al.fd, &own);
}

/* Do other shared mappings show all its pages? */
static bool shown(const struct range *added)
{
	const uint64_t end = added->a.offset + (added->a.end - added->a.start);
	uint64_t at = added->a.offset;
	for (struct range *r = NULL; at < end && (r = next_in(&added->a, false, r, at, at + 1));)
		if (r != added) {
			at = r->a.offset + (r->a.end - r->a.start);
			r = NULL;
		}
	return at >= end;
}

static bool overlaps_another(const struct range *r)
{
	const struct alias *a = &r->a;
	const uint64_t end = a->offset + (a->end - a->start);
	const struct range *o = next_in(a, false, NULL, a->offset, end);
	if (o == r)
		o = next_in(a, false, o, a->offset, end);
	return o || (!a->follows && next_in(a, true, NULL, a->offset, end));
}

void aliases_add(const struct alias *a)
{
	aliases_gone(a->start, a->end);
	struct range made = {.at = {.start = a->start, .end = a->end}, .a = *a};
	made.a.placed = false;
	struct range *added_now = spans_new(&al.ranges, &made);
	if (!added_now)
		no_memory();
	struct object *o = object_of(a);
	if (!o && !overlaps_another(added_now)) {
		added_now->a.fresh = false;
		return;
	}
	aliases_generation++;
	if (!o) {
		o = new_object(a);
		for (int follows = 0; follows < 2; follows++)
			for (struct range *r = NULL; (r = next_in(a, follows, r, 0, UINT64_MAX));)
				if (r != added_now)
					place(&r->a, o);
	}
	if (added_now->a.empty && shown(added_now))
		map(&added_now->a, o, al.fd, &(struct own){0});
	else
		place(&added_now->a, o); /* last: its bytes are the newest */
	added_now->a.fresh = false;
}

bool aliases_follows(uint64_t addr)
{
	const struct range *r = al.objects.n ? spans_at(&al.ranges, addr) : NULL;
	uint64_t own;
	if (!r || !r->a.follows || !r->a.placed)
		return false;
	struct alias page = r->a;
	page.start = addr & ~(RDB_PAGE - 1);
	page.end = page.start + RDB_PAGE;
	return pages_of_its_own(&page, &own) == 0;
}

void aliases_drop_own(uint64_t addr)
{
	const struct range *r = spans_at(&al.ranges, addr);
	if (r && r->a.follows)
		raw_syscall(SYS_madvise, (long)(addr & ~(RDB_PAGE - 1)), RDB_PAGE, MADV_DONTNEED, 0, 0, 0);
}

/* Frees the object if nothing shows it any more. */
static void gone(struct span *part, void *arg)
{
	const struct alias *a = &((struct range *)part)->a;
	struct object *o = object_of(a);
	*(bool *)arg = true;
	if (!o || next_in(a, false, NULL, 0, UINT64_MAX) || next_in(a, true, NULL, 0, UINT64_MAX))
		return;
	if (fallocate(al.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)o->base, (off_t)OBJECT_ROOM))
		failed("given back", -errno);
	if (table_add(&al.given_back, &o->base, sizeof(o->base)))
		no_memory();
	spans_free(&al.objects, &o->name);
}

void aliases_gone(uint64_t start, uint64_t end)
{
	bool any = false;
	const bool placed = al.objects.n;
	if (spans_cut(&al.ranges, start, end, gone, &any))
		no_memory();
	if (any && placed)
		aliases_generation++;
}

struct each {
	int (*fn)(uint64_t alias, uint64_t len, uint64_t at, void *arg);
	void *arg;
};

/* [from, to): a part of the range; `at`: its distance from the requested address. */
static int each_of(const struct range *r, uint64_t from, uint64_t to, uint64_t at, const struct each *e)
{
	const uint64_t off = r->a.offset + (from - r->a.start), off_end = off + (to - from);
	for (int follows = 0; follows < 2; follows++)
		for (struct range *o = NULL; (o = next_in(&r->a, follows, o, off, off_end));) {
			const struct alias *b = &o->a;
			if (o == r || !b->placed)
				continue;
			const uint64_t b_end = b->offset + (b->end - b->start);
			const uint64_t first = off > b->offset ? off : b->offset,
				       last = off_end < b_end ? off_end : b_end;
			const int rc = e->fn(b->start + (first - b->offset), last - first, at + (first - off), e->arg);
			if (rc)
				return rc;
		}
	return 0;
}

int aliases_each(uint64_t addr, uint64_t len, int (*fn)(uint64_t alias, uint64_t len, uint64_t at, void *arg),
		 void *arg)
{
	if (!al.objects.n)
		return 0;
	SPANS_IN(struct range, r, &al.ranges, addr, addr + len)
	{
		if (!r->a.placed)
			continue;
		const uint64_t from = addr > r->at.start ? addr : r->at.start,
			       to = addr + len < r->at.end ? addr + len : r->at.end;
		const int rc = each_of(r, from, to, from - addr, &(struct each){fn, arg});
		if (rc)
			return rc;
	}
	return 0;
}

static int one(uint64_t alias, uint64_t len, uint64_t at, void *arg)
{
	return 1;
}

bool aliases_of(uint64_t addr, uint64_t len)
{
	return aliases_each(addr, len, one, NULL);
}

int aliases_file(uint64_t addr, uint64_t *offset)
{
	const struct range *r = al.objects.n ? spans_at(&al.ranges, addr) : NULL;
	if (!r || !r->a.placed)
		return -1;
	*offset = object_of(&r->a)->base + r->a.offset + (addr - r->a.start);
	return al.fd;
}

/* ---- forks ---- */

static int copy_file(int from, int to)
{
	static char bytes[64 << 10];
	const off_t size = lseek(from, 0, SEEK_END);
	if (size < 0 || ftruncate(to, size))
		return -errno;
	for (off_t at = lseek(from, 0, SEEK_DATA); at >= 0 && at < size; at = lseek(from, at, SEEK_DATA)) {
		const off_t end = lseek(from, at, SEEK_HOLE);
		while (at < end) {
			const size_t n = (size_t)(end - at) < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
			if (pread(from, bytes, n, at) != (ssize_t)n || pwrite(to, bytes, n, at) != (ssize_t)n)
				return -EIO;
			at += (off_t)n;
		}
	}
	return 0;
}

int aliases_before_fork(void)
{
	if (!al.objects.n)
		return 0;
	const int fd = new_file();
	const int rc = fd < 0 ? fd : copy_file(al.fd, fd);
	al.copy = fd < 0 ? 0 : fd;
	if (rc)
		aliases_forked(false);
	return rc;
}

static int keep_mapping(const struct mapping *m, void *arg)
{
	return table_add(arg, m, sizeof(*m));
}

/* Reads the memory map once: to find one alias in it takes as long as to find all. */
static void map_copies(void)
{
	struct table map = {0};
	int rc = arena_each(keep_mapping, &map);
	const struct mapping *m = (void *)map.base, *end = (void *)(map.base + map.len);
	SPANS_EACH(struct range, r, &al.ranges)
	{
		struct own own;
		if (!r->a.placed)
			continue;
		const struct mapped to = {.a = &r->a, .base = object_of(&r->a)->base, .fd = al.copy};
		keep_own(&r->a, &own);
		while (m < end && m->end <= r->a.start)
			m++;
		for (const struct mapping *part = m; !rc && part < end && part->start < r->a.end; part++)
			rc = map_part(part, (void *)&to);
		put_own(&own);
	}
	if (rc)
		failed("mapped", rc);
	table_drop(&map);
}

void aliases_forked(bool child)
{
	if (!al.copy)
		return;
	if (child)
		map_copies();
	lower_fd_close(child ? al.fd : al.copy);
	al.fd = child ? al.copy : al.fd;
	al.copy = 0;
}

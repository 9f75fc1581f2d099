#include "space/aliases.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "space/arena.h"
#include "space/shared_kinds.h"
#include "base/descriptors.h"

enum { RANGES = 2048, OBJECTS = 256, BATCH = 512 };

struct object {
	uint64_t dev, ino;
	int fd, copy; /* copy: what a child will have, -1: none */
};

static struct {
	struct alias ranges[RANGES];
	unsigned n;
	struct object objects[OBJECTS]; /* those with several overlapping ranges */
	unsigned nobjects;
} al;

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

static bool overlap(const struct alias *a, const struct alias *b)
{
	return same_object(a, b) && a->offset < b->offset + (b->end - b->start) &&
	       b->offset < a->offset + (a->end - a->start) && !(a->follows && b->follows);
}

static struct object *object_of(const struct alias *a)
{
	for (unsigned i = 0; i < al.nobjects; i++)
		if (al.objects[i].dev == a->dev && al.objects[i].ino == a->ino)
			return &al.objects[i];
	return NULL;
}

static int new_file(void)
{
	int fd = memfd_create("rdb-alias", MFD_CLOEXEC);
	return fd < 0 ? -errno : lower_fd(fd);
}

static struct object *new_object(const struct alias *a)
{
	if (al.nobjects == OBJECTS)
		rdb_fatal("more than %d objects are mapped at several addresses", OBJECTS);
	struct object *o = &al.objects[al.nobjects];
	*o = (struct object){.dev = a->dev, .ino = a->ino, .fd = new_file(), .copy = -1};
	if (o->fd < 0)
		failed("made", o->fd);
	al.nobjects++;
	return o;
}

static bool zero_page(const uint64_t *p)
{
	for (unsigned i = 0; i < RDB_PAGE / 8; i++)
		if (p[i])
			return false;
	return true;
}

/* The program may not be allowed to read or write it. */
static int memory(int flags)
{
	int fd = descriptor_open(AT_FDCWD, "/proc/self/mem", flags | O_CLOEXEC, 0);
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
	/* a hole reads as zeros, and costs nothing in the copies */
	const int rc = zero_page(page) ? fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, RDB_PAGE)
				       : pwrite(fd, page, RDB_PAGE, (off_t)off) != (ssize_t)RDB_PAGE;
	if (rc)
		failed("filled", -errno);
}

struct mapped {
	const struct alias *a;
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
				    (long)(to->a->offset + (start - to->a->start)));
	return rc < 0 ? (int)rc : 0;
}

/* Pages of its own of a mapping that follows: their addresses, and after them their bytes. */
struct own {
	uint64_t *pages, *bytes;
	size_t n;
};

/* proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped, 61 of the file */
static size_t pages_of_its_own(const struct alias *a, uint64_t *pages)
{
	uint64_t e[BATCH];
	size_t n = 0;
	int fd = descriptor_open(AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	for (uint64_t at = a->start; at < a->end;) {
		const uint64_t left = (a->end - at) / RDB_PAGE, want = left < BATCH ? left : BATCH;
		if (fd < 0 || pread(fd, e, want * 8, (off_t)(at / RDB_PAGE * 8)) != (ssize_t)(want * 8))
			failed("looked at", -EIO);
		for (uint64_t i = 0; i < want; i++, at += RDB_PAGE)
			if (e[i] >> 62 && !(e[i] >> 61 & 1))
				pages[n++] = at;
	}
	close(fd);
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

static void map(struct alias *a, int fd, struct own *own)
{
	struct mapped to = {.a = a, .fd = fd};
	const int rc = arena_each(map_part, &to);
	if (rc)
		failed("mapped", rc);
	put_own(own);
	a->placed = true;
}

/* Its bytes become the object's, and it shows the object. */
static void place(struct alias *a, const struct object *o)
{
	uint64_t page[RDB_PAGE / 8];
	struct own own;
	const off_t size = lseek(o->fd, 0, SEEK_END), needed = (off_t)(a->offset + (a->end - a->start));
	if (size < needed && ftruncate(o->fd, needed))
		failed("made", -errno);
	keep_own(a, &own);
	int fd = memory(O_RDONLY);
	for (uint64_t at = a->start, k = 0; at < a->end; at += RDB_PAGE) {
		if (k < own.n && own.pages[k] == at) {
			k++;
			continue;
		}
		read_page(fd, at, page);
		write_page(o->fd, a->offset + (at - a->start), page);
	}
	close(fd);
	map(a, o->fd, &own);
}

void aliases_add(const struct alias *a)
{
	aliases_gone(a->start, a->end);
	if (al.n == RANGES)
		rdb_fatal("more than %d shared mappings", RANGES);
	struct alias *added = &al.ranges[al.n++];
	*added = *a;
	added->placed = false;
	struct object *o = object_of(a);
	bool several = o;
	for (unsigned i = 0; i + 1 < al.n && !several; i++)
		several = overlap(&al.ranges[i], added);
	if (!several)
		return;
	aliases_generation++;
	if (!o)
		o = new_object(a);
	/* the newest last: its bytes are those of this event */
	for (unsigned i = 0; i < al.n; i++)
		if (!al.ranges[i].placed && same_object(&al.ranges[i], added))
			place(&al.ranges[i], o);
}

bool aliases_follows(uint64_t addr)
{
	const uint64_t page = addr & ~(RDB_PAGE - 1);
	for (unsigned i = 0; al.nobjects && i < al.n; i++) {
		struct alias a = al.ranges[i];
		uint64_t own;
		if (!a.follows || !a.placed || page < a.start || page >= a.end)
			continue;
		a.start = page;
		a.end = page + RDB_PAGE;
		return pages_of_its_own(&a, &own) == 0;
	}
	return false;
}

void aliases_drop_own(uint64_t addr)
{
	for (unsigned i = 0; i < al.n; i++)
		if (al.ranges[i].follows && addr >= al.ranges[i].start && addr < al.ranges[i].end)
			raw_syscall(SYS_madvise, (long)(addr & ~(RDB_PAGE - 1)), RDB_PAGE, MADV_DONTNEED, 0, 0, 0);
}

/* Objects that nothing shows any more. */
static void drop_objects(void)
{
	for (unsigned i = 0; i < al.nobjects;) {
		struct object *o = &al.objects[i];
		bool used = false;
		for (unsigned k = 0; k < al.n; k++)
			used |= al.ranges[k].dev == o->dev && al.ranges[k].ino == o->ino;
		if (used) {
			i++;
			continue;
		}
		lower_fd_close(o->fd);
		*o = al.objects[--al.nobjects];
	}
}

void aliases_gone(uint64_t start, uint64_t end)
{
	bool any = false;
	for (unsigned i = 0; i < al.n;) {
		struct alias head = al.ranges[i], tail = head;
		if (head.start >= end || head.end <= start) {
			i++;
			continue;
		}
		any = true;
		al.ranges[i] = al.ranges[--al.n];
		head.end = start;
		tail.start = end;
		tail.offset += end - head.start;
		if (al.n + 2 > RANGES)
			rdb_fatal("more than %d shared mappings", RANGES);
		if (head.start < start)
			al.ranges[al.n++] = head;
		if (tail.end > end)
			al.ranges[al.n++] = tail;
	}
	if (any && al.nobjects) {
		aliases_generation++;
		drop_objects();
	}
}

int aliases_each(uint64_t addr, uint64_t len, int (*fn)(uint64_t alias, uint64_t len, uint64_t at, void *arg),
		 void *arg)
{
	for (unsigned i = 0; al.nobjects && i < al.n; i++) {
		const struct alias *a = &al.ranges[i];
		if (!a->placed || a->start >= addr + len || addr >= a->end)
			continue;
		const uint64_t from = addr > a->start ? addr : a->start, to = addr + len < a->end ? addr + len : a->end;
		const uint64_t off = a->offset + (from - a->start), off_end = off + (to - from);
		for (unsigned k = 0; k < al.n; k++) {
			const struct alias *b = &al.ranges[k];
			const uint64_t b_end = b->offset + (b->end - b->start);
			if (k == i || !b->placed || !same_object(a, b) || b->offset >= off_end || off >= b_end)
				continue;
			const uint64_t first = off > b->offset ? off : b->offset,
				       last = off_end < b_end ? off_end : b_end;
			const int rc = fn(b->start + (first - b->offset), last - first, from + (first - off) - addr,
					  arg);
			if (rc)
				return rc;
		}
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
	for (unsigned i = 0; al.nobjects && i < al.n; i++) {
		const struct alias *a = &al.ranges[i];
		if (!a->placed || addr < a->start || addr >= a->end)
			continue;
		*offset = a->offset + (addr - a->start);
		return object_of(a)->fd;
	}
	return -1;
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
	int rc = 0;
	for (struct object *o = al.objects; o < al.objects + al.nobjects && !rc; o++) {
		o->copy = new_file();
		rc = o->copy < 0 ? o->copy : copy_file(o->fd, o->copy);
	}
	if (rc)
		aliases_forked(false);
	return rc;
}

void aliases_forked(bool child)
{
	for (unsigned i = 0; child && al.nobjects && i < al.n; i++) {
		struct alias *a = &al.ranges[i];
		struct own own;
		if (!a->placed)
			continue;
		keep_own(a, &own);
		map(a, object_of(a)->copy, &own);
	}
	for (struct object *o = al.objects; o < al.objects + al.nobjects; o++) {
		if (o->copy < 0)
			continue;
		lower_fd_close(child ? o->fd : o->copy);
		o->fd = child ? o->copy : o->fd;
		o->copy = -1;
	}
}

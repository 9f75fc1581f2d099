#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "space/dirty.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/cautions.h"
#include "space/ends.h"
#include "space/followed.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/sole_owner.h"
#include "base/descriptors.h"
#include "space/store.h"

enum {
	REGIONS = 1024,
	BATCH = 64 << 10,
	WINDOW = 2 << 20,       /* looked for what nobody has touched */
	SMALL = 1 << 20,        /* so much is compared at every event in any case */
	EVERY_EVENT = 16 << 20, /* so much is, where others may write */
	LINE = 64,
	LINES = 64, /* so many are logged whether they have changed or not */
	FEW_PAGES = 16 * RDB_PAGE,
	FEW_BYTES = 256, /* what changes more at once is data, not what processes wait for */
};
/* After a fork, until it is looked whether the child has what we have; in the end so much */
static const uint64_t SOON_NS = 50 * 1000000ul, LATER_NS = 2000 * 1000000ul;

struct region {
	uint64_t start, end;
	char *alias;  /* the same memory, mapped once more, readable whatever the program does */
	char *shadow; /* what it held at the last event; NULL: nobody else can change it */
	uint64_t dev, ino, offset;
	uint64_t file_dev, file_ino; /* as fstat(2) has it, which some file systems do otherwise; 0: no file */
	char *frozen;                /* what it holds, while an image is begun; NULL: the shadow does */
	int kind;
	bool follows;    /* a private mapping: a page shows the file until the program stores there */
	bool mpi_writes; /* its file */
	bool cautioned;
	bool sparse; /* pages that nobody has touched are not there, and zero */
};

static struct region regions[REGIONS];
unsigned shared_regions;
static bool relatives; /* a process was forked, or a descriptor went away: others have what we have */
static bool given;     /* a descriptor went away */
static struct {
	uint64_t at_ns, wait_ns; /* when it is looked for relatives that are left */
} left;
static uint64_t buffer[BATCH / 8];

/* Lines that change little by little.  A semaphore that this program has raised and another has lowered since the
 * last event is what it was; a replay, which has raised it alone, must be told so. */
static struct {
	uint64_t at[LINES];
	unsigned n;
} counters;

/* Shadows of what is unmapped: the record of the event that did it is still made from them. */
static struct {
	char *begin;
	size_t len;
} retired[REGIONS];
static unsigned retired_count;
static uint64_t retired_at; /* the event before that one */

static void drop_retired(void)
{
	if (retired_at == lower.event)
		return;
	while (retired_count) {
		retired_count--;
		munmap(retired[retired_count].begin, retired[retired_count].len);
	}
}

void shared_retire(char *begin, size_t len)
{
	if (!recording()) {
		munmap(begin, len);
		return;
	}
	drop_retired();
	if (retired_count == REGIONS)
		rdb_fatal("more than %d shared mappings", REGIONS);
	retired[retired_count].begin = begin;
	retired[retired_count++].len = len;
	retired_at = lower.event;
}

static bool inheritable(const struct region *r)
{
	return r->kind == SHARED_ANONYMOUS || r->kind == SHARED_NAMELESS;
}

static bool contested(const struct region *r)
{
	return r->kind == SHARED_SYSV || r->kind == SHARED_NAMED || (relatives && inheritable(r));
}

/* Bytes that are compared, and those of them that others may write. */
struct sizes {
	uint64_t all, contested;
};

static struct sizes sizes(void)
{
	struct sizes sum = {0};
	for (unsigned i = 0; i < shared_regions; i++) {
		const uint64_t size = regions[i].shadow ? regions[i].end - regions[i].start : 0;
		sum.all += size;
		sum.contested += contested(&regions[i]) ? size : 0;
	}
	return sum;
}

static bool every_event(const struct region *r, struct sizes sum)
{
	return r->mpi_writes || sum.all <= SMALL || (contested(r) && sum.contested <= EVERY_EVENT);
}

/* Bytes beyond the end of the file count as zero. */
static bool fetch(const char *from, void *to, size_t len)
{
	struct iovec l = {to, len}, r = {(void *)from, len};
	long got = raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&r, 1, 0);
	size_t n = got < 0 ? 0 : (size_t)got;
	memset((char *)to + n, 0, len - n);
	return n > 0;
}

static char *zero_memory(size_t len)
{
	long p = raw_syscall(SYS_mmap, 0, (long)len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0)
		rdb_fatal("out of memory for a copy of %zu bytes of shared memory", len);
	return (char *)p;
}

static size_t batch_at(const struct region *r, uint64_t off)
{
	uint64_t left = r->end - r->start - off;
	return left < BATCH ? left : BATCH;
}

static bool resident(const char *memory, size_t len)
{
	unsigned char pages[WINDOW / RDB_PAGE];
	return raw_syscall(SYS_mincore, (long)memory, (long)len, (long)pages, 0, 0, 0) ||
	       memchr(pages, 1, len / RDB_PAGE);
}

static const char zeros[WINDOW];

static bool untouched(const struct region *r, uint64_t off, size_t len)
{
	if (resident(r->alias + off, len))
		return false;
	return !r->shadow || !resident(r->shadow + off, len) || !memcmp(r->shadow + off, zeros, len);
}

/* The first batch from `off` on that somebody may have touched.  To look at others would give them memory.  mincore(2) does
 * not tell what is swapped out from what was never there: so not while anything is. */
static uint64_t touched(const struct region *r, uint64_t off)
{
	const uint64_t size = r->end - r->start;
	struct sysinfo info;
	if (!r->sparse || raw_syscall(SYS_sysinfo, (long)&info, 0, 0, 0, 0, 0) || info.totalswap != info.freeswap)
		return off;
	while (off < size) {
		const uint64_t left = size - off, window = left < WINDOW ? left : WINDOW;
		uint64_t len = off % WINDOW ? batch_at(r, off) : window;
		if (len > BATCH && !untouched(r, off, len))
			len = BATCH;
		if (len <= BATCH && !untouched(r, off, len))
			break;
		off += len;
	}
	return off;
}

/* All of a page that are in use. */
static void keep_lines(uint64_t page, const char *bytes)
{
	for (unsigned off = 0; off < RDB_PAGE; off += LINE) {
		unsigned i = 0;
		while (i < counters.n && counters.at[i] != page + off)
			i++;
		if (i == counters.n && i < LINES && memcmp(bytes + off, zeros, LINE))
			counters.at[counters.n++] = page + off;
	}
}

/* Which pages the program has stored in: proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped, 61 of the file. */
static void find_own(const struct region *r, uint64_t off, size_t len, bool own[BATCH / RDB_PAGE])
{
	uint64_t e[BATCH / RDB_PAGE];
	const size_t n = len / RDB_PAGE * 8;
	int fd = descriptor_open(AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || pread(fd, e, n, (off_t)((r->start + off) / RDB_PAGE * 8)) != (ssize_t)n)
		rdb_fatal("which pages of a private mapping are as in its file cannot be read");
	close(fd);
	for (size_t i = 0; i < len / RDB_PAGE; i++)
		own[i] = e[i] >> 62 && !(e[i] >> 61 & 1);
}

/* Pages of its own, as a replay needs them to make aliases (aliases.h). */
static void note_follows(struct event *ev, const struct region *r)
{
	bool own[BATCH / RDB_PAGE];
	uint64_t n = 0, *pages = (uint64_t *)zero_memory(sizeof(struct rdb_note_follows) +
							 (r->end - r->start) / RDB_PAGE * 16);
	struct rdb_note_follows *note = (void *)pages;
	*note = (struct rdb_note_follows){{r->start, r->end, r->dev, r->ino, r->offset, (uint64_t)r->kind}};
	pages = (uint64_t *)(note + 1);
	for (uint64_t off = 0; off < r->end - r->start; off += BATCH) {
		find_own(r, off, batch_at(r, off), own);
		for (uint64_t p = 0; p < batch_at(r, off) / RDB_PAGE; p++) {
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

/* The pages that the program has for itself, where they stay until the event ends. */
static char *copy_own(const struct region *r)
{
	bool own[BATCH / RDB_PAGE];
	char *copy = zero_memory(r->end - r->start);
	int fd = descriptor_open(AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0); /* whatever its protection is */
	for (uint64_t off = 0; off < r->end - r->start; off += BATCH) {
		find_own(r, off, batch_at(r, off), own);
		for (uint64_t p = 0; p < batch_at(r, off) / RDB_PAGE; p++) {
			const uint64_t at = off + p * RDB_PAGE;
			if (own[p] && pread(fd, copy + at, RDB_PAGE, (off_t)(r->start + at)) != (ssize_t)RDB_PAGE)
				rdb_fatal("private memory at %#lx cannot be read", (unsigned long)(r->start + at));
		}
	}
	close(fd);
	shared_retire(copy, r->end - r->start);
	return copy;
}

/* Makes the shadow what the memory holds; with an event, logs what is not zero as notes. */
static void copy_all(struct region *r, struct event *ev)
{
	uint64_t noted = 0; /* up to here the last note goes */
	bool own[BATCH / RDB_PAGE] = {false};
	char *mine = ev && r->follows ? copy_own(r) : NULL;
	if (!r->shadow)
		r->shadow = zero_memory(r->end - r->start);
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		size_t n = batch_at(r, off);
		fetch(r->alias + off, buffer, n);
		if (mine)
			find_own(r, off, n, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *page = (char *)buffer + p, *shadow = r->shadow + off + p;
			uint64_t addr = r->start + off + p;
			if (own[p / RDB_PAGE]) {
				memcpy(shadow, page, RDB_PAGE);
				shadow = mine + off + p;
			} else if (!memcmp(page, zeros, RDB_PAGE) && !memcmp(shadow, zeros, RDB_PAGE))
				continue;
			else
				memcpy(shadow, page, RDB_PAGE);
			if (r->end - r->start <= FEW_PAGES && !r->follows)
				keep_lines(addr, shadow);
			if (!ev)
				continue;
			if (addr != noted)
				event_note(ev, RDB_NOTE_AT, &addr, sizeof(addr));
			event_chunk_from(ev, 0, RDB_NOTE_BYTES, shadow, RDB_PAGE);
			noted = addr + RDB_PAGE;
		}
	}
}

static void be_cautious(struct region *r)
{
	static const char *const names[] = {"anonymous memory", "a file without a name", "a file made to be shared",
					    "System V shared memory", "a file"};
	if ((!contested(r) && !r->mpi_writes) || r->cautioned)
		return;
	r->cautioned = true;
	if (r->mpi_writes) {
		caution("a file that is mapped at %#lx-%#lx is open for writing through MPI: a replay may differ where "
			"the program looks at it before a write of its own is complete, or while other ranks write",
			(unsigned long)r->start, (unsigned long)r->end);
		return;
	}
	caution("shared memory at %#lx-%#lx (%s) may be written by other processes: a replay may differ from here "
		"on where the program looks at it between two events",
		(unsigned long)r->start, (unsigned long)r->end, names[r->kind]);
}

static int identify(const struct mapping *m, void *arg)
{
	struct region *r = arg;
	if (r->start < m->start || r->start >= m->end)
		return 0;
	r->dev = m->dev;
	r->ino = m->inode;
	r->offset = m->offset + (r->start - m->start);
	return 1;
}

static struct region *new_region(uint64_t at, size_t len, int kind, long alias)
{
	if (shared_regions == REGIONS)
		rdb_fatal("more than %d shared mappings", REGIONS);
	struct region *r = &regions[shared_regions++];
	*r = (struct region){.start = at, .end = at + len, .alias = (char *)alias, .kind = kind};
	arena_each(identify, r);
	return r;
}

static void adopt(struct event *ev, uint64_t at, size_t len, int kind, bool sparse)
{
	if (!recording())
		return;
	/* mremap(2): an old size of zero makes another mapping of the same pages.  Not of System V memory, which
	 * counts its mappings where everybody can see it. */
	long alias = (long)at;
	if (kind != SHARED_SYSV)
		alias = raw_syscall(SYS_mremap, (long)at, 0, (long)len, MREMAP_MAYMOVE, 0, 0);
	if (alias < 0 || (alias != (long)at && raw_syscall(SYS_mprotect, alias, (long)len, PROT_READ, 0, 0, 0)))
		rdb_fatal("shared memory at %#lx cannot be mapped a second time", (unsigned long)at);
	struct region *r = new_region(at, len, kind, alias);
	r->sparse = sparse;
	for (const struct region *o = regions; ev && o < r; o++)
		if (o->follows && o->ino == r->ino && o->dev == r->dev)
			note_follows(ev, o);
	if (ev) {
		const struct rdb_note_shared_of of = {at, at + len, r->dev, r->ino, r->offset, (uint64_t)kind};
		event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){at, at + len}, 16);
		event_note(ev, RDB_NOTE_SHARED_OF, &of, sizeof(of));
	}
	copy_all(r, ev);
	if (kind == SHARED_ANONYMOUS && !relatives) {
		shared_retire(r->shadow, len); /* nobody else: nothing to compare with */
		r->shadow = NULL;
	}
	be_cautious(r);
}

void shared_adopt(struct event *ev, uint64_t at, size_t len, int kind)
{
	adopt(ev, at, len, kind, false);
}

static int adopt_mapped(const struct mapping *m, void *arg)
{
	int (*const *kind_of)(uint64_t start) = arg;
	if (m->shared)
		shared_adopt(NULL, m->start, m->end - m->start, (*kind_of)(m->start));
	return 0;
}

void shared_adopt_mapped(int (*kind_of)(uint64_t start))
{
	if (recording())
		arena_each(adopt_mapped, &kind_of);
}

static int kind_of(int fd)
{
	struct stat st, shm;
	struct statfs fs;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return SHARED_FILE;
	if (!st.st_nlink)
		return SHARED_NAMELESS;
	/* shm_open(3); elsewhere a tmpfs is for files as others are, such as those of /tmp */
	if (fs.f_type == TMPFS_MAGIC)
		return !stat("/dev/shm", &shm) && shm.st_dev == st.st_dev ? SHARED_NAMED : SHARED_FILE;
	return fs.f_type == HUGETLBFS_MAGIC ? SHARED_NAMED : SHARED_FILE;
}

static bool is_sparse(int flags, int fd)
{
	struct statfs fs;
	return flags & MAP_ANONYMOUS || (!fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC);
}

bool shared_volatile(int fd)
{
	return kind_of(fd) != SHARED_FILE || (raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0) & O_ACCMODE) == O_RDWR;
}

static void of_file(struct region *r, int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return;
	r->file_dev = st.st_dev;
	r->file_ino = st.st_ino;
	r->mpi_writes = followed_mpi_writes(&st);
	be_cautious(r);
}

static void same_file(struct region *r, const struct region *was)
{
	r->file_dev = was->file_dev;
	r->file_ino = was->file_ino;
	r->mpi_writes = was->mpi_writes;
}

void shared_mpi_writes(const struct stat *st)
{
	for (unsigned i = 0; i < shared_regions; i++) {
		struct region *r = &regions[i];
		if (r->file_ino != st->st_ino || r->file_dev != st->st_dev || !r->shadow)
			continue;
		r->mpi_writes = true;
		be_cautious(r);
	}
}

bool shared_is_followed(const struct stat *st)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (regions[i].file_ino == st->st_ino && regions[i].file_dev == st->st_dev)
			return true;
	return false;
}

void shared_files_each(void (*fn)(uint64_t dev, uint64_t ino))
{
	for (unsigned i = 0; i < shared_regions; i++)
		fn(regions[i].file_dev, regions[i].file_ino);
}

/* The file once more, as nobody of this program changes it by storing here. */
static long map_file(size_t len, int fd, uint64_t offset)
{
	return raw_syscall(SYS_mmap, 0, (long)len, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, (long)offset);
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
	if (!follows) {
		followed_mapped(ev, fd);
		adopt(ev, at, len, flags & MAP_ANONYMOUS ? SHARED_ANONYMOUS : kind_of(fd), is_sparse(flags, fd));
		if (recording())
			of_file(&regions[shared_regions - 1], fd);
		return 0;
	}
	struct region *r = new_region(at, len, kind_of(fd), alias);
	r->follows = true;
	of_file(r, fd);
	note_follows(ev, r);
	copy_all(r, ev);
	be_cautious(r);
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
		rdb_fatal("a file that is mapped at %#lx cannot be followed", (unsigned long)f->start);
	struct region *r = new_region(f->start, len, kind_of(fd), alias);
	r->follows = true;
	of_file(r, fd);
	dirty_unwatch(f->start, f->end);
	/* what a replay has: the copy, and zeros beyond its end */
	const uint64_t size = (uint64_t)st.st_size, left = size > f->offset ? size - f->offset : 0;
	r->shadow = zero_memory(len);
	if (left && pread(stored, r->shadow, left < len ? left : len, (off_t)f->offset) < 0)
		rdb_fatal("a file that is mapped at %#lx cannot be followed", (unsigned long)f->start);
	close(stored);
	/* zeros have stood in for what was beyond the end of the file */
	struct tail tail = {f, f->start + ((left + RDB_PAGE - 1) & ~(RDB_PAGE - 1)), fd};
	if (arena_each(map_tail, &tail))
		rdb_fatal("a file that is mapped at %#lx cannot be followed", (unsigned long)f->start);
	ends_of_file(f->start, f->end);
	note_follows(ev, r);
	be_cautious(r);
}

static void note_new(struct event *ev, uint64_t at, size_t len, const struct region *was, long alias)
{
	struct region *r = new_region(at, len, was->kind, alias);
	r->follows = true;
	same_file(r, was);
	note_follows(ev, r);
	copy_all(r, ev);
}

/* Of the same pages as these of a region. */
static long second_alias(const struct region *r, uint64_t at, size_t len)
{
	return raw_syscall(SYS_mremap, (long)(r->alias + (at - r->start)), 0, (long)len, MREMAP_MAYMOVE, 0, 0);
}

long shared_move(struct event *ev, uint64_t old, size_t old_len, uint64_t at, size_t new_len, bool keep)
{
	struct region *r = NULL;
	for (unsigned i = 0; i < shared_regions; i++)
		if (old >= regions[i].start && old < regions[i].end)
			r = &regions[i];
	const struct region was = *r;
	if (!was.follows) {
		long rc = raw_syscall(SYS_mremap, (long)old, (long)old_len, (long)new_len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0);
		if (rc < 0)
			return rc;
		shared_unmapped(at, at + new_len);
		if (old_len)
			shared_unmapped(old, old + old_len);
		adopt(ev, at, new_len, was.kind, was.sparse);
		same_file(&regions[shared_regions - 1], &was);
		return 0;
	}
	const long alias = second_alias(&was, old, new_len), left = keep ? second_alias(&was, old, old_len) : 0;
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
	if (keep) /* the file again */
		note_new(ev, old, old_len, &was, left);
	note_new(ev, at, new_len, &was, alias);
	return 0;
}

void shared_unmapped(uint64_t start, uint64_t end)
{
	aliases_gone(start, end);
	for (unsigned i = 0; i < shared_regions;) {
		struct region *r = &regions[i++];
		uint64_t from = r->start > start ? r->start : start, to = r->end < end ? r->end : end;
		if (from >= to)
			continue;
		if (r->kind != SHARED_SYSV)
			munmap(r->alias + (from - r->start), to - from);
		if (r->shadow)
			shared_retire(r->shadow + (from - r->start), to - from);
		struct region head = *r, tail = *r;
		head.end = from;
		tail.start = to;
		tail.alias += to - r->start;
		tail.offset += to - r->start;
		if (tail.shadow)
			tail.shadow += to - r->start;
		*r = regions[--shared_regions];
		i--;
		if (shared_regions + 2 > REGIONS)
			rdb_fatal("more than %d shared mappings", REGIONS);
		if (head.end > head.start)
			regions[shared_regions++] = head; /* outside [start, end) now */
		if (tail.end > tail.start)
			regions[shared_regions++] = tail;
	}
}

void shared_detached(uint64_t start)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (regions[i].start == start) {
			shared_unmapped(start, regions[i].end);
			return;
		}
}

static const struct region *region_at(uint64_t addr)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (addr >= regions[i].start && addr < regions[i].end)
			return &regions[i];
	return NULL;
}

bool shared_at(uint64_t addr)
{
	return region_at(addr);
}

bool shared_contested(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (regions[i].start < end && regions[i].end > start && contested(&regions[i]))
			return true;
	return false;
}

int shared_kind_at(uint64_t addr)
{
	const struct region *r = region_at(addr);
	return r ? r->kind : SHARED_FILE;
}

void shared_note_parts(struct event *ev, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < shared_regions; i++) {
		const struct region *r = &regions[i];
		if (r->start < end && r->end > start)
			event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){r->start, r->end}, 16);
	}
}

static void log_lines(struct event *ev, const struct region *r)
{
	for (unsigned i = 0; i < counters.n; i++)
		if (counters.at[i] >= r->start && counters.at[i] < r->end)
			event_chunk_from(ev, counters.at[i], RDB_NOTE_SHARED, r->shadow + (counters.at[i] - r->start),
					 LINE);
}

static void log_page(struct event *ev, uint64_t addr, const char *page, char *shadow, bool follows)
{
	size_t first = 0, last = RDB_PAGE - 8;
	while (!memcmp(page + first, shadow + first, 8))
		first += 8;
	while (!memcmp(page + last, shadow + last, 8))
		last -= 8;
	memcpy(shadow + first, page + first, last + 8 - first);
	event_chunk_from(ev, addr + first, RDB_NOTE_SHARED, shadow + first, last + 8 - first);
	if (last - first < FEW_BYTES && !follows)
		keep_lines(addr, shadow);
}

static bool is_own(const struct region *r, uint64_t at)
{
	bool own[BATCH / RDB_PAGE];
	find_own(r, at - r->start, RDB_PAGE, own);
	return own[0];
}

/* MPI may write while mappings of a file are looked at one after the other: all show what the last look has seen, as they
 * do in a replay, where they are one page. */
static void seen_last(struct event *ev, const struct region *r, uint64_t off, const char *page)
{
	for (unsigned i = 0; r->mpi_writes && i < shared_regions; i++) {
		struct region *o = &regions[i];
		const uint64_t at = r->offset + off - o->offset;
		if (o == r || !o->mpi_writes || o->file_ino != r->file_ino || o->file_dev != r->file_dev ||
		    at >= o->end - o->start || !memcmp(page, o->shadow + at, RDB_PAGE))
			continue;
		if (!o->follows || !is_own(o, o->start + at))
			log_page(ev, o->start + at, page, o->shadow + at, o->follows);
	}
}

static const struct file_part whole = {0, UINT64_MAX};

/* PART of its file.  ALL: what the program had stored in a private mapping may be gone. */
static void sync_region(struct event *ev, struct region *r, struct file_part part, bool all)
{
	bool own[BATCH / RDB_PAGE] = {false};
	uint64_t off = touched(r, part.from > r->offset ? (part.from - r->offset) / BATCH * BATCH : 0);
	for (; off < r->end - r->start && r->offset + off < part.to; off = touched(r, off + BATCH)) {
		size_t n = batch_at(r, off);
		if (!fetch(r->alias + off, buffer, n) && r->kind == SHARED_SYSV)
			continue; /* the program has protected it */
		if (!all && !memcmp(buffer, r->shadow + off, n))
			continue;
		if (r->follows)
			find_own(r, off, n, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *now = (char *)buffer + p, *shadow = r->shadow + off + p;
			if (own[p / RDB_PAGE])
				continue;
			if (all) {
				memcpy(shadow, now, RDB_PAGE);
				event_chunk_from(ev, r->start + off + p, RDB_NOTE_SHARED, shadow, RDB_PAGE);
			} else if (memcmp(now, shadow, RDB_PAGE)) {
				log_page(ev, r->start + off + p, now, shadow, r->follows);
			}
			seen_last(ev, r, off + p, shadow);
		}
	}
}

/* `wrote`: the file that the call has written to, if it is known. */
static bool may_change(const struct event *ev, const struct region *r, const struct stat *wrote)
{
	if (wrote && !contested(r) && (r->file_ino || r->kind == SHARED_ANONYMOUS))
		return r->file_ino == wrote->st_ino && r->file_dev == wrote->st_dev;
	return shared_call_synchronises(ev, contested(r));
}

void shared_sync_before(struct event *ev)
{
	if (!recording() || !lower.started)
		return;
	drop_retired();
	if (!shared_regions)
		return;
	struct stat st;
	const int fd = shared_call_wrote(ev);
	const struct stat *wrote = fd >= 0 && !fstat(fd, &st) ? &st : NULL;
	const struct file_part part = wrote ? shared_call_part(ev, fd) : whole;
	const struct sizes sum = sizes();
	for (unsigned i = 0; i < shared_regions; i++) {
		struct region *r = &regions[i];
		const bool always = r->shadow && every_event(r, sum);
		if (!always && !(r->shadow && may_change(ev, r, wrote)))
			continue;
		sync_region(ev, r, always || contested(r) ? whole : part,
			    r->follows && shared_call_drops_pages(ev, r->start, r->end));
		if (contested(r))
			log_lines(ev, r);
	}
}

/* What the program has stored since the last event a replay has by itself.  The call may make it what it was at that event. */
void shared_before_write(struct event *ev)
{
	if (!recording() || !lower.started || !shared_regions || !shared_call_synchronises(ev, false))
		return;
	struct stat st;
	const int fd = shared_call_writes_to(ev);
	const bool known = fd >= 0 && !fstat(fd, &st);
	const struct file_part part = known ? shared_call_part(ev, fd) : whole;
	drop_retired();
	for (unsigned i = 0; i < shared_regions; i++) {
		struct region *r = &regions[i];
		if (r->shadow && (!known || (r->file_ino == st.st_ino && r->file_dev == st.st_dev)))
			sync_region(ev, r, part, false);
	}
}

uint64_t shared_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_inheritable(uint64_t dev, uint64_t ino)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (inheritable(&regions[i]) && regions[i].ino == ino && regions[i].dev == dev)
			return true;
	return false;
}

/* Children that have ended, or become other programs, write no more: to compare much at every event is dear. */
static void look_for_relatives(void)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < shared_regions; i++)
		bytes += inheritable(&regions[i]) ? regions[i].end - regions[i].start : 0;
	if (bytes <= SMALL || shared_clock_ns() < left.at_ns)
		return;
	relatives = !sole_owner(is_inheritable);
	left.wait_ns = left.wait_ns < LATER_NS ? left.wait_ns * 2 : left.wait_ns;
	left.at_ns = shared_clock_ns() + left.wait_ns;
}

void shared_sync(struct event *ev)
{
	if (ev->asked_ns && sizes().contested && shared_clock_ns() > ev->asked_ns + SHARED_QUICK_NS)
		event_note(ev, RDB_NOTE_ASKED, &ev->asked_ns, sizeof(ev->asked_ns));
	if (!shared_call_changes_map(ev))
		shared_sync_before(ev);
	if (relatives && !given)
		look_for_relatives();
	if (!given && shared_call_gives_away(ev)) {
		relatives = given = true;
		sole_owner_passed();
		for (unsigned i = 0; i < shared_regions; i++)
			be_cautious(&regions[i]);
	}
}

void shared_before_fork(void)
{
	relatives = true;
	left.wait_ns = SOON_NS;
	left.at_ns = shared_clock_ns() + SOON_NS;
	if (!recording())
		return;
	for (unsigned i = 0; i < shared_regions; i++) {
		if (!regions[i].shadow)
			copy_all(&regions[i], NULL);
		be_cautious(&regions[i]);
	}
}

void shared_in_child(void)
{
	for (unsigned i = 0; i < shared_regions; i++) {
		regions[i].cautioned = false;
		be_cautious(&regions[i]);
		copy_all(&regions[i], NULL);
	}
}

uint64_t shared_followed_until(uint64_t at)
{
	const struct region *r = region_at(at);
	return r && r->follows ? r->end : 0;
}

bool shared_within(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < shared_regions; i++)
		if (regions[i].start < end && regions[i].end > start)
			return true;
	return false;
}

bool shared_page(uint64_t at, void *page)
{
	const struct region *r = region_at(at);
	if (!r)
		return false;
	if (r->follows && is_own(r, at))
		memcpy(page, (const void *)at, RDB_PAGE);
	else if (r->shadow && every_event(r, sizes()))
		memcpy(page, r->shadow + (at - r->start), RDB_PAGE);
	else
		fetch(r->alias + (at - r->start), page, RDB_PAGE);
	return true;
}

uint64_t shared_zero_until(uint64_t at)
{
	const struct region *r = region_at(at);
	return r ? r->start + touched(r, at - r->start) : at;
}

const void *shared_as_logged(uint64_t at)
{
	const struct region *r = region_at(at);
	if (!r || (r->follows && is_own(r, at)))
		return NULL;
	const char *bytes = r->frozen ? r->frozen : r->shadow;
	return bytes ? bytes + (at - r->start) : NULL;
}

static void freeze(struct region *r)
{
	r->frozen = zero_memory(r->end - r->start);
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		const size_t n = batch_at(r, off);
		if (!fetch(r->alias + off, buffer, n) && r->kind == SHARED_SYSV && r->shadow)
			memcpy(buffer, r->shadow + off, n); /* the program has protected it */
		if (memcmp(buffer, zeros, n))
			memcpy(r->frozen + off, buffer, n);
	}
}

void shared_freeze(void)
{
	const struct sizes sum = sizes();
	for (unsigned i = 0; i < shared_regions; i++)
		if (!regions[i].shadow || !every_event(&regions[i], sum))
			freeze(&regions[i]);
}

void shared_thaw(void)
{
	for (unsigned i = 0; i < shared_regions; i++) {
		struct region *r = &regions[i];
		if (r->frozen)
			munmap(r->frozen, r->end - r->start);
		r->frozen = NULL;
	}
}

bool shared_hashable(void)
{
	return sizes().contested <= EVERY_EVENT;
}

/* The shadow becomes what the memory holds; was it that? */
static bool refresh(struct region *r)
{
	bool same = true;
	for (uint64_t off = touched(r, 0); off < r->end - r->start; off = touched(r, off + BATCH)) {
		const size_t n = batch_at(r, off);
		fetch(r->alias + off, buffer, n);
		if (!memcmp(buffer, r->shadow + off, n))
			continue;
		memcpy(r->shadow + off, buffer, n);
		same = false;
	}
	return same;
}

bool shared_hashable_at_end(void)
{
	bool known = sizes().contested == 0;
	/* what differs the program itself has stored, or somebody else in a file */
	for (unsigned i = 0; known && i < shared_regions; i++)
		known = !regions[i].shadow || refresh(&regions[i]) || inheritable(&regions[i]);
	return known;
}

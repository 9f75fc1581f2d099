#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "space/arena.h"
#include "base/descriptors.h"
#include "base/guarded_copy.h"
#include "base/pagemap_scan.h"
#include "space/device_memory.h"
#include "space/ends.h"
#include "space/patches.h"
#include "space/shared_memory.h"
#include "space/shared_shadows.h"

enum { PAGEMAP_BATCH = 512 };

/* The lower half; the gate, which the kernel never merges with other mappings; and our own code. */
static bool is_ours(const struct mapping *m)
{
	return !RDB_IS_UPPER(m->start) || (m->start < RDB_GATE + 2 * RDB_PAGE && m->end > RDB_GATE) ||
	       m->start - patch_code.at < patch_code.len;
}

/* linux/fs.h of Linux 6.11: PROCMAP_QUERY, one mapping without those before it */
struct procmap_query {
	uint64_t size, flags, addr, start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct procmap_query)
enum { QUERY_READ = 1, QUERY_WRITE = 2, QUERY_EXEC = 4, QUERY_SHARED = 8, QUERY_COVERING_OR_NEXT = 16 };

/* Finds the first mapping that ends after `at`. 0; -ENOENT: none; or -errno. */
static int query(int fd, uint64_t at, struct mapping *m)
{
	struct procmap_query q = {.size = sizeof(q), .flags = QUERY_COVERING_OR_NEXT, .addr = at};
	const long rc = raw_syscall(SYS_ioctl, fd, (long)QUERY, (long)&q, 0, 0, 0);
	if (rc < 0)
		return (int)rc;
	*m = (struct mapping){
		.start = q.start,
		.end = q.end,
		.prot = (q.vma_flags & QUERY_READ ? PROT_READ : 0) | (q.vma_flags & QUERY_WRITE ? PROT_WRITE : 0) |
			(q.vma_flags & QUERY_EXEC ? PROT_EXEC : 0),
		.shared = q.vma_flags & QUERY_SHARED,
		.anonymous = q.inode == 0,
		.offset = q.offset,
		.dev = (uint64_t)q.major << 20 | q.minor,
		.inode = q.inode,
	};
	return 0;
}

static int each_queried(int fd, uint64_t start, uint64_t end, int (*fn)(const struct mapping *m, void *arg), void *arg)
{
	struct mapping m;
	int rc = 0;
	for (uint64_t at = start; !rc && at < end; at = m.end) {
		rc = query(fd, at, &m);
		if (rc || m.start >= end)
			return rc == -ENOENT ? 0 : rc;
		rc = is_ours(&m) ? 0 : fn(&m, arg);
	}
	return rc;
}

struct part {
	uint64_t start, end;
	int (*fn)(const struct mapping *m, void *arg);
	void *arg;
};

static int take_line(const char *line, void *arg)
{
	const struct part *part = arg;
	const struct mapping m = maps_parse(line);
	if (m.start >= part->end)
		return MAPS_END;
	return m.end <= part->start || is_ours(&m) ? 0 : part->fn(&m, part->arg);
}

int arena_each_in(uint64_t start, uint64_t end, int (*fn)(const struct mapping *m, void *arg), void *arg)
{
	static bool no_query;
	int fd = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	if (fd < 0)
		return fd;
	int rc = -ENOTTY;
	struct mapping m;
	/* the whole map is read faster as text */
	if (!no_query && (start || end < RDB_UPPER_END)) {
		rc = query(fd, start, &m);
		no_query = rc && rc != -ENOENT;
		rc = no_query ? -ENOTTY : each_queried(fd, start, end, fn, arg);
	}
	if (rc == -ENOTTY)
		rc = maps_lines(fd, take_line, &(struct part){start, end, fn, arg});
	raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return rc;
}

int arena_each(int (*fn)(const struct mapping *m, void *arg), void *arg)
{
	return arena_each_in(0, RDB_UPPER_END, fn, arg);
}

static int copy(const struct mapping *m, void *arg)
{
	*(struct mapping *)arg = *m;
	return 1;
}

bool arena_mapping_at(uint64_t addr, struct mapping *out)
{
	return arena_each_in(addr, addr + 1, copy, out) == 1;
}

/* ---- places ---- */

enum {
	LOW_END = 0x80000000 /* mmap(2), MAP_32BIT */,
	LOWEST = 0x10000 /* the usual vm.mmap_min_addr */
};

/* Our own ranges, and those that grow. */
static const struct {
	uint64_t start, end;
} reserved[] = {
	{RDB_COUNTER_STUBS_LOW, RDB_SPIN_STUBS_LOW + RDB_COUNTER_STUBS_BYTES},
	{RDB_GATE, RDB_SCRATCH_END},
	{RDB_SPIN_STUBS_PROG, RDB_COUNTER_STUBS_PROG + RDB_COUNTER_STUBS_BYTES},
	{RDB_BRK, RDB_BRK_END},
	{RDB_SPIN_STUBS, RDB_STUBS_END},
	{RDB_MMAP_END, RDB_ARENA_END},
};

/* The highest end of what the program itself has mapped above the next address of arena_take(); indexed by `low`. */
static struct {
	bool known;
	uint64_t end[2];
} ahead;

static uint64_t *next_of(bool low)
{
	return low ? &lower.upper.mmap_next_32 : &lower.upper.mmap_next;
}

static uint64_t end_of(bool low)
{
	return low ? LOW_END : RDB_MMAP_END;
}

void arena_chosen(uint64_t start, uint64_t end)
{
	for (int low = 0; low < 2; low++)
		if (start < end_of(low) && end > *next_of(low) && end > ahead.end[low])
			ahead.end[low] = end;
}

static int found(const struct mapping *m, void *arg)
{
	(void)arg;
	arena_chosen(m->start, m->end);
	return 0;
}

static int last_end(const struct mapping *m, void *arg)
{
	*(uint64_t *)arg = m->end;
	return 0;
}

/* The first place for `len` bytes in [at, end), where nothing is mapped from `free` on.  0: there is none. */
static uint64_t room(uint64_t at, uint64_t end, uint64_t free, size_t len)
{
	/* large areas start on a huge-page boundary, with a gap between any two */
	const uint64_t align = len >= (2ul << 20) ? (2ul << 20) : RDB_PAGE;
	for (at = (at + align - 1) & ~(align - 1); at < end && len <= end - at;) {
		uint64_t taken = 0;
		if (at < free && arena_each_in(at, at + len, last_end, &taken))
			return 0;
		if (!taken)
			return at;
		at = (taken + RDB_PAGE + align - 1) & ~(align - 1);
	}
	return 0;
}

uint64_t arena_take(size_t len, bool low)
{
	if (!ahead.known && arena_each(found, NULL))
		return 0;
	ahead.known = true;
	uint64_t at = room(*next_of(low), end_of(low), ahead.end[low], len);
	if (!at) { /* from the beginning again: what was unmapped there is room */
		ahead.end[low] = end_of(low);
		at = room(low ? RDB_MMAP_32 : RDB_MMAP, end_of(low), end_of(low), len);
	}
	if (at)
		*next_of(low) = at + len + RDB_PAGE;
	return at || low ? at : room(RDB_CHOSEN_2, RDB_CHOSEN_2_END, RDB_CHOSEN_2_END, len);
}

uint64_t arena_hinted(uint64_t hint, size_t len, bool low)
{
	uint64_t at = hint & ~(RDB_PAGE - 1);
	if (at && at < LOWEST)
		at = LOWEST;
	if (!at || !rdb_is_upper_range(at, len) || (low && (at >= LOW_END || len > LOW_END - at)))
		return 0;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (at < reserved[i].end && at + len > reserved[i].start)
			return 0;
	return at;
}

/* ---- hash ---- */

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

static uint64_t page_hash(const uint64_t *p)
{
	uint64_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint64_t any = 0;
	for (unsigned i = 0; i < RDB_PAGE / 8; i += 8)
		for (unsigned k = 0; k < 8; k++) {
			any |= p[i + k];
			a[k] = (a[k] ^ p[i + k]) * 0x9e3779b97f4a7c15ull;
			a[k] ^= a[k] >> 29;
		}
	if (!any)
		return 0;
	uint64_t h = 0;
	for (unsigned k = 0; k < 8; k++)
		h = mix(h ^ a[k]);
	return h | 1;
}

struct hashing {
	uint64_t sum;
	int pagemap;
	uint64_t at, end; /* hash_file(): the pages of a file that are left */
	void (*page)(uint64_t addr, uint64_t hash);
};

static void hash_page(uint64_t at, const uint64_t *page, struct hashing *hs)
{
	uint64_t h = page_hash(page);
	if (!h)
		return;
	hs->sum += mix(at ^ h);
	if (hs->page)
		hs->page(at, h);
}

static void hash_range(uint64_t from, uint64_t to, struct hashing *hs)
{
	for (uint64_t at = from; at < to; at += RDB_PAGE) {
		uint64_t copy[RDB_PAGE / 8];
		const uint64_t *known = device_regions ? device_page(at) : NULL;
		hash_page(at, known ? known : patches_page(at, copy), hs);
	}
}

static void hash_file(void *arg)
{
	struct hashing *hs = arg;
	for (; hs->at < hs->end; hs->at += RDB_PAGE)
		hash_range(hs->at, hs->at + RDB_PAGE, hs);
}

/* Another process may have cut the file: pages behind its end are left out. */
static void hash_file_range(uint64_t from, uint64_t to, const struct mapping *m, struct hashing *hs)
{
	hs->at = from;
	hs->end = to;
	for (; !guarded_call(hash_file, hs); hs->at += RDB_PAGE)
		ends_found(hs->at, m->end, m->prot);
}

static int hash_mapping(const struct mapping *m, void *arg)
{
	struct hashing *hs = arg;
	if (!(m->prot & (PROT_READ | PROT_WRITE)) || hot_stubs_inside(m->start) ||
	    (m->anonymous && m->prot & PROT_EXEC && (counter_stubs_inside(m->start) || spin_stubs_inside(m->start))))
		return 0;
	if (shared_regions && (m->shared || (!m->anonymous && shared_within(m->start, m->end)))) {
		for (uint64_t at = m->start, look = at; at < m->end; at += RDB_PAGE) {
			uint64_t page[RDB_PAGE / 8];
			if (m->shared && at >= look) { /* reading untouched pages would allocate them */
				at = shared_zero_until(at);
				look = at + SHADOW_BATCH;
			}
			if (at >= m->end)
				break;
			if (shared_page(at, page))
				hash_page(at, page, hs);
			else if (!m->shared)
				hash_file_range(at, at + RDB_PAGE, m, hs);
		}
		return 0;
	}
	if (!m->anonymous) {
		hash_file_range(m->start, m->end, m, hs);
		return 0;
	}
	/* untouched anonymous pages are zero: leave them untouched (proc(5), /proc/pid/pagemap) */
	for (uint64_t at = m->start; (at = pagemap_next(hs->pagemap, at, m->end)) < m->end;) {
		uint64_t entries[PAGEMAP_BATCH];
		uint64_t n = (m->end - at) / RDB_PAGE;
		if (n > PAGEMAP_BATCH)
			n = PAGEMAP_BATCH;
		long got = raw_syscall(17 /* pread64 */, hs->pagemap, (long)entries, (long)(n * 8),
				       (long)(at / RDB_PAGE * 8), 0, 0);
		if (got != (long)(n * 8))
			return got < 0 ? (int)got : -EIO;
		for (uint64_t i = 0; i < n; i++, at += RDB_PAGE)
			if (entries[i] >> 62) /* present or swapped */
				hash_range(at, at + RDB_PAGE, hs);
	}
	return 0;
}

uint64_t arena_hash(void)
{
	return arena_hash_pages(NULL);
}

uint64_t arena_hash_pages(void (*page)(uint64_t addr, uint64_t hash))
{
	struct hashing hs = {.sum = 0x726462ull, .page = page};
	hs.pagemap = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY, 0);
	int rc = hs.pagemap < 0 ? hs.pagemap : arena_each(hash_mapping, &hs);
	if (hs.pagemap >= 0)
		raw_syscall(3 /* close */, hs.pagemap, 0, 0, 0, 0, 0);
	if (rc) {
		static bool said;
		if (!said)
			rdb_warn("hash of memory: %s", strerror(-rc));
		said = true;
		return 0;
	}
	return mix(hs.sum) | 1;
}

/* ---- file mappings ---- */

static struct file_mapping *mapping_of(struct span *s)
{
	return (struct file_mapping *)s;
}

static struct spans by_file;

static void later(struct span *s, uint64_t by)
{
	mapping_of(s)->offset += by;
}

static void known(struct span *s)
{
	struct file_mapping *f = mapping_of(s);
	f->of_file = (struct span){.start = f->start, .end = f->end, .of = span_of_file(f->dev, f->ino)};
	spans_add(&by_file, &f->of_file);
}

static void forgotten(struct span *s)
{
	spans_take(&by_file, &mapping_of(s)->of_file);
}

static struct spans files = {.size = sizeof(struct file_mapping), .later = later, .added = known, .taken = forgotten};

void arena_unmapped(uint64_t start, uint64_t end)
{
	patches_gone(start, end);
	ends_gone(start, end);
	if (spans_cut(&files, start, end, NULL, NULL))
		mappings_no_memory();
}

void arena_file_mapped(const struct file_mapping *f)
{
	arena_unmapped(f->start, f->end);
	if (!spans_new(&files, f))
		mappings_no_memory();
}

void arena_file_read_only(uint64_t at)
{
	((struct file_mapping *)spans_at(&files, at))->read_only = true;
}

struct file_mapping *arena_file_next(const struct file_mapping *f, uint64_t start, uint64_t end)
{
	return spans_next(&files, f ? &f->span : NULL, 0, start, end);
}

void arena_files_of(uint64_t dev, uint64_t ino, void (*fn)(const struct file_mapping *f, void *arg), void *arg)
{
	const uint64_t of = span_of_file(dev, ino);
	struct span last = {.of = of}, *s;
	while (ino && (s = spans_next(&by_file, last.end ? &last : NULL, of, last.start, UINT64_MAX))) {
		const struct file_mapping f = *(struct file_mapping *)((char *)s -
								       offsetof(struct file_mapping, of_file));
		last = *s; /* fn may remove the element */
		if (f.ino == ino && f.dev == dev)
			fn(&f, arg);
	}
}

const struct file_mapping *arena_file_at(uint64_t addr)
{
	return spans_at(&files, addr);
}

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "space/arena.h"
#include "base/descriptors.h"
#include "space/device_memory.h"
#include "space/ends.h"
#include "space/patches.h"
#include "space/shared_memory.h"

enum { FILES_MAX = 4096, PAGEMAP_BATCH = 512 };

static struct {
	struct file_mapping files[FILES_MAX];
	unsigned nfiles;
} arena;

static uint64_t hex(const char **p)
{
	uint64_t v = 0;
	for (;; (*p)++) {
		char c = **p;
		if (c >= '0' && c <= '9')
			v = v * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* proc(5), /proc/pid/maps: address perms offset dev inode pathname */
static void parse_line(const char *p, struct mapping *m)
{
	memset(m, 0, sizeof(*m));
	m->start = hex(&p);
	p++;
	m->end = hex(&p);
	p++;
	m->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) | (p[2] == 'x' ? PROT_EXEC : 0);
	m->shared = p[3] == 's';
	p += 5;
	m->offset = hex(&p);
	p++;
	uint64_t major = hex(&p);
	p++;
	m->dev = major << 20 | hex(&p);
	p++;
	for (; *p >= '0' && *p <= '9'; p++)
		m->inode = m->inode * 10 + (uint64_t)(*p - '0');
	m->anonymous = m->inode == 0;
}

int arena_each(int (*fn)(const struct mapping *m, void *arg), void *arg)
{
	char buf[8192];
	size_t have = 0;
	int rc = 0;
	int fd = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	if (fd < 0)
		return fd;
	while (rc == 0) {
		long n = raw_syscall(0 /* read */, fd, (long)(buf + have), (long)(sizeof(buf) - have), 0, 0, 0);
		if (n <= 0) {
			rc = (int)n;
			break;
		}
		have += (size_t)n;
		char *line = buf, *nl;
		bool done = false;
		while (rc == 0 && (nl = memchr(line, '\n', have - (size_t)(line - buf)))) {
			struct mapping m;
			*nl = 0;
			parse_line(line, &m);
			line = nl + 1;
			if (m.start >= RDB_ARENA_END) {
				done = true;
				break;
			}
			if (m.start < RDB_GATE + 2 * RDB_PAGE && m.end > RDB_GATE)
				continue; /* the kernel may have merged nothing with it: the gate stands alone */
			if (m.start - patch_code.at < patch_code.len)
				continue;
			rc = fn(&m, arg);
		}
		if (done)
			break;
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	raw_syscall(3 /* close */, fd, 0, 0, 0, 0, 0);
	return rc;
}

struct search {
	uint64_t addr;
	struct mapping *out;
};

static int holds(const struct mapping *m, void *arg)
{
	const struct search *s = arg;

	if (s->addr < m->start || s->addr >= m->end)
		return 0;
	*s->out = *m;
	return 1;
}

bool arena_mapping_at(uint64_t addr, struct mapping *out)
{
	return arena_each(holds, &(struct search){addr, out}) == 1;
}

/* ---- places ---- */

enum {
	LOW_END = 0x80000000 /* mmap(2), MAP_32BIT */,
	LOWEST = 0x10000 /* vm.mmap_min_addr as it is nearly everywhere */
};

/* Ours, or what grows there. */
static const struct {
	uint64_t start, end;
} reserved[] = {
	{RDB_TSC_STUBS_LOW, RDB_SPIN_STUBS_LOW + RDB_TSC_STUBS_BYTES},
	{RDB_GATE, RDB_SCRATCH_END},
	{RDB_SPIN_STUBS_PROG, RDB_TSC_STUBS_PROG + RDB_TSC_STUBS_BYTES},
	{RDB_BRK, RDB_BRK_END},
	{RDB_SPIN_STUBS, RDB_STUBS_END},
	{RDB_MMAP_END, RDB_ARENA_END},
};

/* The highest end of what a program has put where arena_take has not been; by `low`. */
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

struct range {
	uint64_t start, end;
};

/* Its end is where the last mapping in it ends. */
static int overlaps(const struct mapping *m, void *arg)
{
	struct range *r = arg;
	if (m->start < r->end && m->end > r->start)
		r->start = m->end;
	return 0;
}

uint64_t arena_take(size_t len, bool low)
{
	/* large areas start on a huge-page boundary, with a gap between any two */
	const uint64_t align = len >= (2ul << 20) ? (2ul << 20) : RDB_PAGE, end = end_of(low);
	uint64_t at = (*next_of(low) + align - 1) & ~(align - 1);
	if (!ahead.known && arena_each(found, NULL))
		return 0;
	ahead.known = true;
	while (at < ahead.end[low] && len <= end - at) {
		struct range r = {at, at + len};
		if (arena_each(overlaps, &r))
			return 0;
		if (r.start == at)
			break;
		at = (r.start + RDB_PAGE + align - 1) & ~(align - 1);
	}
	if (at > end || len > end - at)
		return 0;
	*next_of(low) = at + len + RDB_PAGE;
	return at;
}

uint64_t arena_hinted(uint64_t hint, size_t len, bool low)
{
	const uint64_t limit = low ? LOW_END : RDB_ARENA_END;
	uint64_t at = hint & ~(RDB_PAGE - 1);
	if (at && at < LOWEST)
		at = LOWEST;
	if (!at || at >= limit || len > limit - at)
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

static int hash_mapping(const struct mapping *m, void *arg)
{
	struct hashing *hs = arg;
	if (!(m->prot & (PROT_READ | PROT_WRITE)) || hot_stubs_inside(m->start) ||
	    (m->anonymous && m->prot & PROT_EXEC && (tsc_stubs_inside(m->start) || spin_stubs_inside(m->start))))
		return 0;
	if (shared_regions && (m->shared || (!m->anonymous && shared_within(m->start, m->end)))) {
		for (uint64_t at = m->start; at < m->end; at += RDB_PAGE) {
			uint64_t page[RDB_PAGE / 8];
			if (shared_page(at, page))
				hash_page(at, page, hs);
			else if (!m->shared)
				hash_range(at, at + RDB_PAGE, hs);
		}
		return 0;
	}
	if (!m->anonymous) {
		hash_range(m->start, m->end, hs);
		return 0;
	}
	/* untouched anonymous pages are zero: leave them untouched (proc(5), /proc/pid/pagemap) */
	for (uint64_t at = m->start; at < m->end;) {
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
	hs.pagemap = descriptor_open(AT_FDCWD, "/proc/self/pagemap", O_RDONLY, 0);
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

void arena_unmapped(uint64_t start, uint64_t end)
{
	patches_gone(start, end);
	ends_gone(start, end);
	for (unsigned i = 0; i < arena.nfiles;) {
		struct file_mapping *f = &arena.files[i];
		if (f->end <= start || f->start >= end) {
			i++;
		} else if (f->start < start && f->end > end) {
			struct file_mapping tail = *f;
			tail.offset += end - f->start;
			tail.start = end;
			f->end = start;
			if (arena.nfiles == FILES_MAX)
				rdb_fatal("more than %d file mappings", FILES_MAX);
			arena.files[arena.nfiles++] = tail;
			i++;
		} else if (f->start < start) {
			f->end = start;
			i++;
		} else if (f->end > end) {
			f->offset += end - f->start;
			f->start = end;
			i++;
		} else {
			*f = arena.files[--arena.nfiles];
		}
	}
}

void arena_file_mapped(uint64_t start, uint64_t end, uint64_t offset, const char *key)
{
	arena_unmapped(start, end);
	if (arena.nfiles == FILES_MAX)
		rdb_fatal("more than %d file mappings", FILES_MAX);
	struct file_mapping *f = &arena.files[arena.nfiles++];
	*f = (struct file_mapping){.start = start, .end = end, .offset = offset};
	strncpy(f->key, key, sizeof(f->key) - 1);
}

struct file_mapping *arena_file_made(void)
{
	return &arena.files[arena.nfiles - 1];
}

void arena_files_each(void (*fn)(uint64_t dev, uint64_t ino))
{
	for (unsigned i = 0; i < arena.nfiles; i++)
		fn(arena.files[i].dev, arena.files[i].ino);
}

void arena_files_of(uint64_t dev, uint64_t ino, void (*fn)(const struct file_mapping *f, void *arg), void *arg)
{
	for (unsigned i = 0; i < arena.nfiles;) {
		const struct file_mapping f = arena.files[i];
		const unsigned before = arena.nfiles;
		if (f.ino == ino && f.dev == dev && ino)
			fn(&f, arg);
		i += arena.nfiles == before; /* fn may have taken it away */
	}
}

const struct file_mapping *arena_file_at(uint64_t addr)
{
	for (unsigned i = 0; i < arena.nfiles; i++)
		if (addr >= arena.files[i].start && addr < arena.files[i].end)
			return &arena.files[i];
	return NULL;
}

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/guarded_copy.h"
#include "base/table.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "space/file_holes.h"
#include "space/shared_memory.h"
#include "space/shared_shadows.h"

enum {
	WINDOW = 2 << 20, /* size of the steps in the search for touched memory */
	LINE = 64,
	LINES = 64, /* lines that are logged even if unchanged */
	FEW_PAGES = 16 * RDB_PAGE,
	FAR = 64 << 20,
};
#define COPIES 0x200000000000l /* used if it is free */

uint64_t shadow_buffer[SHADOW_BATCH / 8];

/* Lines with small changes.  A semaphore that this program has raised and another process has lowered since the last
 * event has its old value; a replay, which has only raised it, must be told. */
static struct {
	uint64_t at[LINES];
	unsigned n;
} counters;

/* Shadows of unmapped regions: the record of the event is still made from them. */
struct retired {
	char *begin;
	size_t len;
};
static struct table retired;
static uint64_t retired_at; /* the last event when they were retired */

void shadows_drop_retired(void)
{
	if (retired_at == lower.event)
		return;
	while (retired.len) {
		retired.len -= sizeof(struct retired);
		const struct retired *r = (void *)(retired.base + retired.len);
		munmap(r->begin, r->len);
	}
}

void shared_retire(char *begin, size_t len)
{
	if (!recording()) {
		munmap(begin, len);
		return;
	}
	shadows_drop_retired();
	if (table_add(&retired, &(struct retired){begin, len}, sizeof(struct retired)))
		mappings_no_memory();
	retired_at = lower.event;
}

/* Bytes beyond the end of the file count as zero. */
void region_fetch(const struct region *r, uint64_t off, void *to, size_t len)
{
	struct iovec l = {to, len}, from = {r->alias + off, len};
	long got = raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&from, 1, 0);
	size_t n = got < 0 ? 0 : (size_t)got;
	if (n < len && r->kind == SHARED_SYSV) { /* the program may have made it unreadable */
		int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
		got = fd < 0 ? fd : pread(fd, (char *)to + n, len - n, (off_t)(r->alias + off + n));
		if (got < 0 || (n += (size_t)got) < len)
			rdb_fatal("shared memory at %#lx cannot be read", (unsigned long)(r->start + off));
		close(fd);
	}
	memset((char *)to + n, 0, len - n);
}

struct comparison {
	const void *now, *shadow;
	size_t len;
	bool same;
};

static void compare(void *arg)
{
	struct comparison *c = arg;
	c->same = !memcmp(c->now, c->shadow, c->len);
}

bool region_same(const struct region *r, uint64_t off, size_t len)
{
	struct comparison c = {r->alias + off, r->shadow + off, len, false};
	if (guarded_call(compare, &c))
		return c.same;
	region_fetch(r, off, shadow_buffer, len);
	return !memcmp(shadow_buffer, r->shadow + off, len);
}

char *shadow_memory(size_t len)
{
	static long next = COPIES; /* placed one after the other, so the kernel merges them: the number of mappings is
				    * limited */
	long p = raw_syscall(SYS_mmap, next, (long)len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0)
		rdb_fatal("out of memory for a copy of %zu bytes of shared memory", len);
	next = p + (long)((len + RDB_PAGE - 1) & ~(RDB_PAGE - 1));
	return (char *)p;
}

size_t region_batch(const struct region *r, uint64_t off)
{
	uint64_t left = r->end - r->start - off;
	return left < SHADOW_BATCH ? left : SHADOW_BATCH;
}

static bool resident(const char *memory, size_t len)
{
	unsigned char pages[WINDOW / RDB_PAGE];
	return raw_syscall(SYS_mincore, (long)memory, (long)len, (long)pages, 0, 0, 0) ||
	       memchr(pages, 1, len / RDB_PAGE);
}

static const char zeros[WINDOW];

static bool shadow_untouched(const struct region *r, uint64_t off, size_t len)
{
	return !r->shadow || !resident(r->shadow + off, len) || !memcmp(r->shadow + off, zeros, len);
}

static bool untouched(const struct region *r, uint64_t off, size_t len)
{
	return !resident(r->alias + off, len) && shadow_untouched(r, off, len);
}

static bool swap_in_use(void)
{
	struct sysinfo info;
	return raw_syscall(SYS_sysinfo, (long)&info, 0, 0, 0, 0, 0) || info.totalswap != info.freeswap;
}

/* A mapping may be far longer than its file (LMDB).  A private one has pages of its own, which go with the file's. */
static bool behind_end(const struct region *r, uint64_t off)
{
	char byte;
	struct iovec l = {&byte, 1}, from = {r->alias + off, 1};
	return r->kind != SHARED_SYSV && !r->follows && r->offset + off >= r->high &&
	       raw_syscall(SYS_process_vm_readv, lower.pid, (long)&l, 1, (long)&from, 1, 0) != 1;
}

/* Where the search for touched memory may end.  To ask about each page of a hole takes the kernel some 30 ns. */
static uint64_t search_end(const struct region *r, uint64_t off)
{
	const uint64_t size = r->end - r->start, high = r->high > r->offset ? r->high - r->offset : 0;
	uint64_t there = ((off > high ? off : high) + RDB_PAGE - 1) & ~(RDB_PAGE - 1ul), behind = size;
	if (there >= size || size - there <= FAR)
		return size;
	if (behind_end(r, there))
		return there;
	while (behind - there > FAR) {
		const uint64_t middle = there + ((behind - there) / 2 & ~(RDB_PAGE - 1ul));
		if (behind_end(r, middle))
			behind = middle;
		else
			there = middle;
	}
	return behind;
}

/* From `off` on: where the file has data, or its shadow, which has none from `high` on.  A hole counts as untouched. */
static uint64_t data_from(const struct region *r, int fd, uint64_t off)
{
	const uint64_t data = region_data_from(r, fd, off) & ~(SHADOW_BATCH - 1ul);
	const uint64_t high = r->high > r->offset ? r->high - r->offset : 0;
	if (off < data && off < high && swap_in_use())
		return off;
	while (off < data && off < high) {
		const uint64_t left = data - off, window = WINDOW - off % WINDOW;
		const size_t len = left < window ? left : window;
		if (!shadow_untouched(r, off, len))
			return off;
		off += len;
	}
	return off > data ? off : data;
}

/* Reading untouched batches would allocate memory.  mincore(2) does not distinguish swapped pages from untouched ones, so
 * none is passed while swap is in use. */
static uint64_t touched_from(const struct region *r, int fd, uint64_t off)
{
	const uint64_t size = r->end - r->start, end = r->sparse ? search_end(r, off) : size;
	while (r->sparse && off < end) {
		const uint64_t left = size - off, window = left < WINDOW ? left : WINDOW;
		uint64_t len = off % WINDOW ? region_batch(r, off) : window;
		if (len > SHADOW_BATCH && !untouched(r, off, len))
			len = SHADOW_BATCH;
		if ((len <= SHADOW_BATCH && !untouched(r, off, len)) || swap_in_use())
			break;
		off += len;
	}
	if (!r->sparse)
		off = data_from(r, fd, off);
	return off < end && !behind_end(r, off) ? off : size;
}

uint64_t region_touched(const struct region *r, uint64_t off)
{
	return touched_from(r, -1, off);
}

/* Keeps the nonzero lines of a page. */
void lines_keep(uint64_t page, const char *bytes)
{
	for (unsigned off = 0; off < RDB_PAGE; off += LINE) {
		unsigned i = 0;
		while (i < counters.n && counters.at[i] != page + off)
			i++;
		if (i == counters.n && i < LINES && memcmp(bytes + off, zeros, LINE))
			counters.at[counters.n++] = page + off;
	}
}

void lines_log(struct event *ev, const struct region *r)
{
	for (unsigned i = 0; i < counters.n; i++)
		if (counters.at[i] >= r->start && counters.at[i] < r->end)
			event_chunk_from(ev, counters.at[i], RDB_NOTE_SHARED, r->shadow + (counters.at[i] - r->start),
					 LINE);
}

void lines_move(const struct region *from, struct region *to)
{
	for (unsigned i = 0; i < counters.n; i++) {
		const uint64_t offset = from->offset + (counters.at[i] - from->start);
		if (counters.at[i] >= from->start && counters.at[i] < from->end && offset >= to->offset &&
		    offset < region_offset_end(to))
			counters.at[i] = to->start + (offset - to->offset);
	}
}

bool region_is_own(const struct region *r, uint64_t at)
{
	bool own[SHADOW_BATCH / RDB_PAGE];
	aliases_own_pages(at, 1, own);
	return own[0];
}

/* A copy of the region's own pages, valid until the event ends. */
static char *copy_own(const struct region *r)
{
	bool own[SHADOW_BATCH / RDB_PAGE];
	char *copy = shadow_memory(r->end - r->start);
	/* reads regardless of protection */
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC, 0);
	for (uint64_t off = 0; off < r->end - r->start; off += SHADOW_BATCH) {
		aliases_own_pages(r->start + off, region_batch(r, off) / RDB_PAGE, own);
		for (uint64_t p = 0; p < region_batch(r, off) / RDB_PAGE; p++) {
			const uint64_t at = off + p * RDB_PAGE;
			if (own[p] && pread(fd, copy + at, RDB_PAGE, (off_t)(r->start + at)) != (ssize_t)RDB_PAGE)
				rdb_fatal("private memory at %#lx cannot be read", (unsigned long)(r->start + at));
		}
	}
	close(fd);
	shared_retire(copy, r->end - r->start);
	return copy;
}

/* Copies the memory to the shadow; with an event, logs what is not zero as notes. */
void region_copy(struct region *r, int fd, struct event *ev)
{
	uint64_t noted = 0; /* end of the last note */
	bool own[SHADOW_BATCH / RDB_PAGE] = {false};
	char *mine = ev && r->follows ? copy_own(r) : NULL;
	struct stat st;
	if (fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size > r->high)
		r->high = (uint64_t)st.st_size;
	if (!r->shadow)
		region_set_shadow(r, shadow_memory(r->end - r->start));
	for (uint64_t off = touched_from(r, fd, 0); off < r->end - r->start;
	     off = touched_from(r, fd, off + SHADOW_BATCH)) {
		size_t n = region_batch(r, off);
		region_fetch(r, off, shadow_buffer, n);
		region_shadowed(r, off, n);
		if (mine)
			aliases_own_pages(r->start + off, n / RDB_PAGE, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *page = (char *)shadow_buffer + p, *shadow = r->shadow + off + p;
			uint64_t addr = r->start + off + p;
			if (own[p / RDB_PAGE]) {
				memcpy(shadow, page, RDB_PAGE);
				shadow = mine + off + p;
			} else if (!memcmp(page, zeros, RDB_PAGE) && !memcmp(shadow, zeros, RDB_PAGE))
				continue;
			else
				memcpy(shadow, page, RDB_PAGE);
			if (r->end - r->start <= FEW_PAGES && region_how(r) == LOOKED_AT)
				lines_keep(addr, shadow);
			if (!ev)
				continue;
			if (addr != noted)
				event_note(ev, RDB_NOTE_AT, &addr, sizeof(addr));
			event_chunk_from(ev, 0, RDB_NOTE_BYTES, shadow, RDB_PAGE);
			noted = addr + RDB_PAGE;
		}
	}
}

/* Updates the shadow.  True: it was up to date. */
bool region_refresh(struct region *r)
{
	bool same = true;
	for (uint64_t off = region_touched(r, 0); off < r->end - r->start;
	     off = region_touched(r, off + SHADOW_BATCH)) {
		const size_t n = region_batch(r, off);
		if (region_same(r, off, n))
			continue;
		region_fetch(r, off, r->shadow + off, n);
		region_shadowed(r, off, n);
		same = false;
	}
	return same;
}

static void freeze(struct region *r)
{
	r->frozen = shadow_memory(r->end - r->start);
	for (uint64_t off = region_touched(r, 0); off < r->end - r->start;
	     off = region_touched(r, off + SHADOW_BATCH)) {
		const size_t n = region_batch(r, off);
		region_fetch(r, off, shadow_buffer, n);
		if (memcmp(shadow_buffer, zeros, n))
			memcpy(r->frozen + off, shadow_buffer, n);
	}
}

void shared_freeze(void)
{
	const struct shared_sizes sum = shared_sizes();
	SPANS_EACH(struct region, r, &region_table)
	if (!r->seen && (!r->shadow || !region_at_every_event(r, sum)))
		freeze(r);
}

void shared_restore(void)
{
	SPANS_EACH(struct region, r, &region_table)
	{
		if (r->frozen)
			munmap(r->frozen, r->end - r->start);
		r->frozen = NULL;
	}
}

bool shared_page(uint64_t at, void *page)
{
	const struct region *r = region_at(at);
	if (!r)
		return false;
	uint64_t off;
	const struct region *looked = region_looked_at(r, at, &off);
	if (r->follows && region_is_own(r, at))
		memcpy(page, (const void *)at, RDB_PAGE);
	else if (looked->shadow && region_at_every_event(looked, shared_sizes()))
		memcpy(page, looked->shadow + off, RDB_PAGE);
	else
		region_fetch(looked, off, page, RDB_PAGE);
	return true;
}

uint64_t shared_zero_until(uint64_t at)
{
	const struct region *r = region_at(at);
	if (!r)
		return at;
	uint64_t off;
	const struct region *looked = region_looked_at(r, at, &off);
	const uint64_t zero = region_touched(looked, off) - off, left = r->end - at;
	return at + (zero < left ? zero : left);
}

const void *shared_as_logged(uint64_t at)
{
	const struct region *r = region_at(at);
	if (!r || (r->follows && region_is_own(r, at)))
		return NULL;
	uint64_t off;
	const struct region *looked = region_looked_at(r, at, &off);
	const char *bytes = looked->frozen ? looked->frozen : looked->shadow;
	return bytes ? bytes + off : NULL;
}

#include "replay/settle.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "space/aliases.h"
#include "space/arena.h"
#include "base/descriptors.h"
#include "base/pagemap_scan.h"

enum { REGIONS = 4096, CHUNK = 2 << 20, PAGES = CHUNK / RDB_PAGE };
#define WORTH 64 /* present pages in a chunk that are worth moving it */

struct region {
	uint64_t start, end;
	int prot;
	bool anonymous; /* false: of an image, or settled before */
};

static struct {
	struct region regions[REGIONS];
	unsigned n;
	uint64_t bytes; /* of all of them: the file's length */
	int pagemap, file;
} s;

static int note(const struct mapping *m, void *arg)
{
	struct region r = {(m->start + CHUNK - 1) & ~(uint64_t)(CHUNK - 1), m->end & ~(uint64_t)(CHUNK - 1), m->prot,
			   m->anonymous};

	uint64_t offset;

	if (m->shared || aliases_file(m->start, &offset) >= 0 || m->prot != (PROT_READ | PROT_WRITE) ||
	    r.end <= r.start || s.n == REGIONS || (!m->anonymous && arena_file_at(m->start)))
		return 0;
	s.bytes += r.end - r.start;
	s.regions[s.n++] = r;
	return 0;
}

/* proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped; 61 of a file */
static bool of_ours(uint64_t entry)
{
	return entry >> 62 && !(entry >> 61 & 1);
}

static int write_all(uint64_t addr, uint64_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pwrite(s.file, (const void *)addr, len, (off_t)off);

		if (n <= 0 && errno != EINTR)
			return n ? -errno : -EIO;
		if (n > 0) {
			addr += (uint64_t)n;
			off += (uint64_t)n;
			len -= (uint64_t)n;
		}
	}
	return 0;
}

/* Writes the pages that are present.  The others stay holes, which read as zero, as in memory. */
static int write_chunk(uint64_t at, uint64_t off, const uint64_t *entries, bool anonymous)
{
	if (!anonymous)
		return write_all(at, CHUNK, off);
	for (uint64_t i = 0; i < PAGES;) {
		uint64_t from = i;

		while (i < PAGES && of_ours(entries[i]))
			i++;
		if (i > from) {
			int rc = write_all(at + from * RDB_PAGE, (i - from) * RDB_PAGE, off + from * RDB_PAGE);

			if (rc)
				return rc;
		}
		i += i == from;
	}
	return 0;
}

static long settle_chunk(uint64_t at, uint64_t off, const struct region *r)
{
	static uint64_t entries[PAGES];
	unsigned there = 0;
	int rc;

	if (pread(s.pagemap, entries, sizeof(entries), (off_t)(at / RDB_PAGE * 8)) != (ssize_t)sizeof(entries))
		return -EIO;
	for (unsigned i = 0; i < PAGES; i++)
		there += of_ours(entries[i]);
	if (there < WORTH)
		return 0;
	rc = write_chunk(at, off, entries, r->anonymous);
	if (rc)
		return rc;
	if (mmap((void *)at, CHUNK, r->prot, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, s.file, (off_t)off) == MAP_FAILED)
		return -errno;
	return (long)there * RDB_PAGE;
}

static long settle_regions(void)
{
	uint64_t off = 0;
	long moved = 0;

	for (unsigned i = 0; i < s.n; i++) {
		const struct region *r = &s.regions[i];

		for (uint64_t at = r->start; (at = pagemap_next(s.pagemap, at, r->end)) < r->end; at += CHUNK) {
			at &= ~(uint64_t)(CHUNK - 1);

			long rc = settle_chunk(at, off + (at - r->start), r);

			if (rc < 0)
				return rc;
			moved += rc;
		}
		off += r->end - r->start;
	}
	return moved;
}

long settle(void)
{
	long rc;

	s.n = 0;
	s.bytes = 0;
	rc = arena_each(note, NULL);
	if (rc < 0 || !s.n)
		return rc;
	s.pagemap = descriptor_open(AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	if (s.pagemap < 0)
		return s.pagemap;
	s.file = memfd_create("rdb", MFD_CLOEXEC);
	if (s.file < 0)
		rc = -errno;
	else if (ftruncate(s.file, (off_t)s.bytes))
		rc = -errno;
	else
		rc = settle_regions();
	if (s.file >= 0)
		close(s.file);
	close(s.pagemap);
	return rc;
}

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "arena.h"
#include "boundary.h"
#include "crc32c.h"
#include "image.h"
#include "io.h"
#include "loader.h"
#include "log_writer.h"
#include "memory_calls.h"
#include "private_file.h"
#include "replay.h"

enum {
	REGIONS = 65536,
	MAP_RUN = 64 * 4096, /* runs from this size on are mapped, not read */
	WRITE_PIECE = 1 << 30
};

/* Growable table in lower memory, without malloc (we may be in a signal handler). */
struct table {
	uint8_t *base;
	size_t len, cap;
};

static struct image_registers restored;

static int grow(struct table *t, const void *data, size_t n)
{
	if (t->len + n > t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 65536;
		while (cap < t->len + n)
			cap *= 2;
		void *p = t->base ? mremap(t->base, t->cap, cap, MREMAP_MAYMOVE)
				  : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		t->base = p;
		t->cap = cap;
	}
	memcpy(t->base + t->len, data, n);
	t->len += n;
	return 0;
}

static void drop(struct table *t)
{
	if (t->base)
		munmap(t->base, t->cap);
	t->base = NULL;
}

struct collect {
	struct table regions, runs;
	int pagemap;
	uint64_t data_len;
};

static bool zero_page(const uint64_t *p)
{
	for (unsigned i = 0; i < RDB_PAGE / 8; i += 8)
		if (p[i] | p[i + 1] | p[i + 2] | p[i + 3] | p[i + 4] | p[i + 5] | p[i + 6] | p[i + 7])
			return false;
	return true;
}

static int add_page(struct collect *c, uint64_t at)
{
	struct image_run *last = c->runs.len ? (void *)(c->runs.base + c->runs.len - sizeof(*last)) : NULL;
	c->data_len += RDB_PAGE;
	if (last && last->addr + last->len == at) {
		last->len += RDB_PAGE;
		return 0;
	}
	struct image_run run = {.addr = at, .len = RDB_PAGE};
	return grow(&c->runs, &run, sizeof(run));
}

/* proc(5), /proc/pid/pagemap: bit 63 present, 62 swapped, 61 file page (not yet copied on write) */
static int add_pages(struct collect *c, const struct mapping *m, uint64_t from, uint64_t to, bool file)
{
	for (uint64_t at = from; at < to;) {
		uint64_t e[512], n = (to - at) / RDB_PAGE < 512 ? (to - at) / RDB_PAGE : 512;
		if (pread(c->pagemap, e, n * 8, (off_t)(at / RDB_PAGE * 8)) != (ssize_t)(n * 8))
			return -EIO;
		for (uint64_t i = 0; i < n; i++, at += RDB_PAGE) {
			bool here = e[i] >> 62, from_file = e[i] >> 61 & 1;
			if (!here || (file && from_file) || (!file && zero_page((const void *)at)))
				continue;
			int rc = add_page(c, at);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int collect_mapping(const struct mapping *m, void *arg)
{
	struct collect *c = arg;
	int rc = 0;
	for (uint64_t at = m->start; at < m->end && !rc;) {
		const struct file_mapping *f = m->anonymous ? NULL : arena_file_at(at);
		struct image_region r = {.start = at, .end = m->end, .prot = (uint32_t)m->prot};
		if (f) {
			if (f->end < r.end)
				r.end = f->end;
			r.offset = f->offset + (at - f->start);
			memcpy(r.key, f->key, sizeof(r.key));
		} else if (!m->anonymous) {
			return -ENXIO; /* a file we did not see mapped */
		}
		rc = grow(&c->regions, &r, sizeof(r));
		if (!rc && (m->prot & PROT_READ))
			rc = add_pages(c, m, r.start, r.end, f != NULL);
		at = r.end;
	}
	return rc;
}

static void save_registers(struct image_registers *r, const ucontext_t *uc)
{
	const uint32_t *sw = (const uint32_t *)((const uint8_t *)uc->uc_mcontext.fpregs + 464);
	memset(r, 0, sizeof(*r));
	memcpy(r->gregs, uc->uc_mcontext.gregs, sizeof(r->gregs));
	r->xsave_len = sw[0] == 0x46505853 ? sw[1] : 512;
	if (r->xsave_len > sizeof(r->xsave))
		r->xsave_len = sizeof(r->xsave);
	memcpy(r->xsave, uc->uc_mcontext.fpregs, r->xsave_len);
}

static int write_image(int fd, unsigned number, const ucontext_t *uc, struct collect *c)
{
	static struct image_registers regs;
	struct image_header h = {
		.magic = RDB_IMAGE_MAGIC,
		.version = RDB_IMAGE_VERSION,
		.number = number,
		.event = lower.event,
		.nregions = (uint32_t)(c->regions.len / sizeof(struct image_region)),
		.nruns = c->runs.len / sizeof(struct image_run),
		.state_size = sizeof(lower.upper),
	};
	const struct {
		const void *p;
		size_t n;
	} parts[] = {
		{&lower.upper, sizeof(lower.upper)},
		{&regs, sizeof(regs)},
		{c->regions.base, c->regions.len},
		{c->runs.base, c->runs.len},
	};
	uint64_t off = sizeof(h);
	int rc = 0;
	save_registers(&regs, uc);
	lower.upper.gs_base = __builtin_ia32_rdgsbase64();
	log_position(&h.log_segment, &h.log_off);
	for (unsigned i = 0; i < 4 && !rc; i++) {
		h.meta_check = crc32c(h.meta_check, parts[i].p, parts[i].n);
		rc = io_write_all(fd, parts[i].p, parts[i].n, off, WRITE_PIECE);
		off += parts[i].n;
	}
	h.data_off = off = (off + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	h.data_len = c->data_len;
	const struct image_run *run = (const void *)c->runs.base;
	for (uint64_t i = 0; i < h.nruns && !rc; i++) {
		h.data_check = crc32c(h.data_check, (const void *)run[i].addr, run[i].len);
		rc = io_write_all(fd, (const void *)run[i].addr, run[i].len, off, WRITE_PIECE);
		off += run[i].len;
	}
	h.header_check = crc32c(0, &h, offsetof(struct image_header, header_check));
	return rc ? rc : io_write_all(fd, &h, sizeof(h), 0, WRITE_PIECE);
}

static void image_path(char *path, size_t size, unsigned number, const char *suffix)
{
	if ((size_t)snprintf(path, size, "%s/ckpt-%06u.img%s", lower.opt.dir, number, suffix) >= size)
		rdb_fatal("%s: too long a path", lower.opt.dir);
}

int image_write(unsigned number, const ucontext_t *uc)
{
	char path[4096], temp[4096];
	struct collect c = {0};
	image_path(path, sizeof(path), number, "");
	image_path(temp, sizeof(temp), number, ".part");
	c.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (c.pagemap < 0)
		return -errno;
	int rc = arena_each(collect_mapping, &c);
	close(c.pagemap);
	int fd = rc ? -1 : private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	if (!rc)
		rc = fd < 0 ? fd : write_image(fd, number, uc, &c);
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(temp, path))
		rc = -errno;
	if (rc && fd >= 0)
		unlink(temp);
	drop(&c.regions);
	drop(&c.runs);
	return rc;
}

/* ---- restoring ---- */

static int complain(const char *path, const char *what, int rc)
{
	rdb_warn("%s: %s", path, what);
	return rc;
}

static int map_regions(const struct image_region *r, unsigned n, const char *path)
{
	for (unsigned i = 0; i < n; i++, r++) {
		/* written to below: the real protection comes last */
		int prot = PROT_READ | PROT_WRITE | (r->prot & PROT_EXEC);
		long rc = 0;
		if (r->key[0]) {
			rc = memory_map_stored(r->start, r->end - r->start, prot, r->key, r->offset);
		} else {
			void *p = mmap((void *)r->start, r->end - r->start, prot,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
			rc = p == MAP_FAILED ? -errno : 0;
			if (!rc && lower.mode == MODE_REPLICA)
				madvise(p, r->end - r->start, MADV_HUGEPAGE); /* cheap snapshots by fork */
		}
		if (rc) {
			rdb_warn("%s: cannot map %#lx-%#lx%s%s: %s", path, (unsigned long)r->start,
				 (unsigned long)r->end, r->key[0] ? " from " : "", r->key, strerror((int)-rc));
			return (int)rc;
		}
	}
	return 0;
}

static int load_runs(int fd, const struct image_header *h, const struct image_run *run)
{
	uint64_t off = h->data_off;
	for (uint64_t i = 0; i < h->nruns; i++, run++) {
		if (run->len >= MAP_RUN) {
			if (mmap((void *)run->addr, run->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
				 (off_t)off) == MAP_FAILED)
				return -errno;
		} else {
			for (uint64_t done = 0; done < run->len;) {
				ssize_t n = pread(fd, (void *)(run->addr + done), run->len - done, (off_t)(off + done));
				if (n <= 0)
					return n ? -errno : -EIO;
				done += (uint64_t)n;
			}
		}
		off += run->len;
	}
	return 0;
}

static int protect_regions(const struct image_region *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++, r++)
		if (mprotect((void *)r->start, r->end - r->start, (int)r->prot))
			return -errno;
	return 0;
}

static int restore_from(int fd, const char *path, const struct image_header *h)
{
	size_t meta_len = h->data_off - sizeof(*h);
	const uint8_t *file = mmap(NULL, h->data_off, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	const uint8_t *p = file + sizeof(*h);
	size_t used = sizeof(lower.upper) + sizeof(restored) + h->nregions * sizeof(struct image_region) +
		      h->nruns * sizeof(struct image_run);
	if (used > meta_len || crc32c(0, p, used) != h->meta_check)
		return complain(path, "damaged: the checksum of its tables does not match", -EBADMSG);
	memcpy(&lower.upper, p, sizeof(lower.upper));
	p += sizeof(lower.upper);
	memcpy(&restored, p, sizeof(restored));
	p += sizeof(restored);
	const struct image_region *regions = (const void *)p;
	const struct image_run *runs = (const void *)(p + h->nregions * sizeof(*regions));
	uint64_t fs = lower.upper.fs_base;
	int rc = map_regions(regions, h->nregions, path);
	if (!rc)
		rc = load_runs(fd, h, runs);
	if (!rc)
		rc = protect_regions(regions, h->nregions);
	lower.upper.fs_base = fs;
	lower.event = h->event;
	lower.started = true;
	munmap((void *)file, h->data_off);
	return rc ? rc : replay_open(h->log_segment, h->log_off);
}

int image_restore(unsigned number)
{
	char path[4096];
	struct image_header h;
	image_path(path, sizeof(path), number, "");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain(path, strerror(errno), -errno);
	fd = lower_fd(fd);
	struct stat st;
	int rc = 0;
	if (fstat(fd, &st) || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != RDB_IMAGE_MAGIC)
		rc = complain(path, "not an rdb image", -EBADMSG);
	else if (h.version != RDB_IMAGE_VERSION) {
		rdb_warn("%s: image v%u, this rdb reads v%u", path, h.version, RDB_IMAGE_VERSION);
		rc = -EPROTO;
	} else if (h.state_size != sizeof(lower.upper)) {
		rdb_warn("%s: image v%u of another build of rdb-exec (%u bytes of state, this one has %zu)", path,
			 h.version, h.state_size, sizeof(lower.upper));
		rc = -EPROTO;
	} else if (h.header_check != crc32c(0, &h, offsetof(struct image_header, header_check)) ||
		   h.data_off > (uint64_t)st.st_size || h.data_off < sizeof(h))
		rc = complain(path, "damaged: offset 0: the checksum of its header does not match", -EBADMSG);
	else if (h.data_off + h.data_len > (uint64_t)st.st_size)
		rc = complain(path, "damaged: it ends before its last page", -EBADMSG);
	else
		rc = restore_from(fd, path, &h);
	close(fd);
	return rc;
}

void image_registers(ucontext_t *uc)
{
	uint32_t *sw = (uint32_t *)((uint8_t *)uc->uc_mcontext.fpregs + 464);
	uint32_t len = sw[0] == 0x46505853 ? sw[1] : 512;
	/* only general registers, rip and flags: segment selectors and the rest stay the kernel's */
	memcpy(uc->uc_mcontext.gregs, restored.gregs, 17 * sizeof(uint64_t));
	UC_REG(uc, EFL) = (uint64_t)restored.gregs[REG_EFL];
	if (restored.xsave_len < len)
		len = restored.xsave_len;
	memcpy(uc->uc_mcontext.fpregs, restored.xsave, 464);
	if (len > 512)
		memcpy((uint8_t *)uc->uc_mcontext.fpregs + 512, restored.xsave + 512, len - 512);
	__builtin_ia32_wrgsbase64(lower.upper.gs_base);
}

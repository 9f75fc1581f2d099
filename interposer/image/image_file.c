#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "image/image.h"

void image_path(char *path, size_t size, unsigned number, const char *suffix)
{
	if ((size_t)snprintf(path, size, "%s/ckpt-%06u.img%s", lower.opt.dir, number, suffix) >= size)
		rdb_fatal("%s: too long a path", lower.opt.dir);
}

static int complain(const struct image_file *f, bool say, const char *what, uint64_t off)
{
	if (say)
		rdb_warn("%s: damaged: offset %lu: expected %s", f->path, (unsigned long)off, what);
	return -EBADMSG;
}

/* Checks the header.  Its contents are used only after its checksum was right. */
static int check_header(const struct image_file *f, const struct image_header *h, uint64_t size, unsigned number,
			bool say)
{
	if (h->magic != RDB_IMAGE_MAGIC)
		return complain(f, say, "the magic number of an rdb image", 0);
	if (h->version != RDB_IMAGE_VERSION) {
		if (say)
			rdb_warn("%s: image v%u, this rdb reads v%u", f->path, h->version, RDB_IMAGE_VERSION);
		return -EPROTO;
	}
	if (h->header_check != crc32c(0, h, offsetof(struct image_header, header_check)))
		return complain(f, say, "a header with a matching checksum", 0);
	if (h->state_size != sizeof(struct upper_state) || h->thread_size != sizeof(struct image_thread)) {
		if (say)
			rdb_warn("%s: image v%u of another build of rdb-exec (%u and %u bytes of state, this one has "
				 "%zu and %zu)",
				 f->path, h->version, h->state_size, h->thread_size, sizeof(struct upper_state),
				 sizeof(struct image_thread));
		return -EPROTO;
	}
	if (h->number != number || h->base > number)
		return complain(f, say, "the number in the file's name", offsetof(struct image_header, number));
	if (h->file_len > size)
		return complain(f, say, "more of the file", size);
	return 0;
}

static int check_sections(struct image_file *f, bool say)
{
	static const struct {
		const char *what;
		size_t size;
	} kinds[IMAGE_SECTIONS] = {
		{"the program's state with a matching checksum", sizeof(struct upper_state)},
		{"registers with a matching checksum", sizeof(struct image_thread)},
		{"regions with a matching checksum", sizeof(struct image_region)},
		{"runs with a matching checksum", sizeof(struct image_run)},
	};
	for (unsigned i = 0; i < IMAGE_SECTIONS; i++) {
		const struct image_section *s = &f->header->sections[i];
		if (s->off % 8 || s->off > f->map_len || s->len > f->map_len - s->off ||
		    s->len != s->count * kinds[i].size || s->check != crc32c_data(0, f->map + s->off, s->len))
			return complain(f, say, kinds[i].what, s->off);
	}
	const struct image_section *regions = &f->header->sections[IMAGE_REGIONS];
	const struct image_section *runs = &f->header->sections[IMAGE_RUNS];
	f->regions = (const void *)(f->map + regions->off);
	f->nregions = regions->count;
	f->runs = (const void *)(f->map + runs->off);
	f->nruns = runs->count;
	for (uint64_t i = 0; i < f->nregions; i++) {
		const struct image_region *r = &f->regions[i];
		if ((r->start | r->end) & (RDB_PAGE - 1) || r->start >= r->end ||
		    !rdb_is_upper_range(r->start, r->end - r->start) || !memchr(r->key, 0, sizeof(r->key)))
			return complain(f, say, "regions of the program's memory",
					f->header->sections[IMAGE_REGIONS].off + i * sizeof(*r));
	}
	for (uint64_t i = 0; i < f->nruns; i++) {
		const struct image_run *r = &f->runs[i];
		bool own = r->image == f->header->number;
		if ((r->addr | r->len) & (RDB_PAGE - 1) || !r->len || !rdb_is_upper_range(r->addr, r->len))
			return complain(f, say, "runs of the program's pages",
					f->header->sections[IMAGE_RUNS].off + i * sizeof(*r));
		if ((i && r->addr < r[-1].addr + r[-1].len) || r->image > f->header->number ||
		    (own && (r->stored > r->len || r->len > IMAGE_RUN_MAX || r->off > f->header->file_len ||
			     r->stored > f->header->file_len - r->off)))
			return complain(f, say, "runs in order", f->header->sections[IMAGE_RUNS].off + i * sizeof(*r));
	}
	return 0;
}

int image_open(struct image_file *f, unsigned number, bool say)
{
	struct image_header h;
	struct stat st;
	memset(f, 0, offsetof(struct image_file, path));
	f->map = NULL;
	f->header = NULL;
	image_path(f->path, sizeof(f->path), number, "");
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int rc = -errno;
		if (say)
			rdb_warn("%s: %s", f->path, strerror(-rc));
		return rc;
	}
	f->fd = lower_fd(fd);
	int rc = f->fd < 0 ? f->fd : fstat(f->fd, &st) ? -errno : 0;
	if (!rc && pread(f->fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		rc = complain(f, say, "a header", 0);
	if (!rc)
		rc = check_header(f, &h, (uint64_t)st.st_size, number, say);
	if (!rc) {
		const struct image_section *last = &h.sections[IMAGE_RUNS];
		f->map_len = last->off + last->len <= h.file_len ? last->off + last->len : h.file_len;
		void *p = mmap(NULL, f->map_len, PROT_READ, MAP_PRIVATE, f->fd, 0);
		rc = p == MAP_FAILED ? -errno : 0;
		f->map = rc ? NULL : p;
	}
	if (!rc) {
		f->header = (const void *)f->map;
		rc = check_sections(f, say);
	}
	if (rc)
		image_close(f);
	return rc;
}

void image_close(struct image_file *f)
{
	if (f->map)
		munmap((void *)f->map, f->map_len);
	if (f->fd >= 0)
		close(f->fd);
	f->map = NULL;
	f->header = NULL;
	f->fd = -1;
}

uint64_t image_find(const struct image_file *f, uint64_t addr)
{
	uint64_t low = 0, high = f->nruns;
	while (low < high) {
		uint64_t mid = (low + high) / 2;
		if (f->runs[mid].addr + f->runs[mid].len > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

int image_check_pages(const struct image_file *f)
{
	uint64_t len = f->header->file_len;
	const uint8_t *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, f->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	madvise((void *)p, len, MADV_SEQUENTIAL);
	int rc = 0;
	for (uint64_t i = 0; i < f->nruns && !rc; i++) {
		const struct image_run *r = &f->runs[i];
		if (r->image != f->header->number)
			continue;
		/* reads many pages at once instead of one per fault; kernels without it (< 5.14) fault */
		uint64_t page = r->off & ~(RDB_PAGE - 1);
		madvise((void *)(p + page), r->off + r->stored - page, 22 /* MADV_POPULATE_READ */);
		if (crc32c_data(0, p + r->off, r->stored) != r->check)
			rc = complain(f, true, "page data with a matching checksum", r->off);
	}
	munmap((void *)p, len);
	return rc;
}

uint64_t image_bytes(unsigned number)
{
	char path[4096];
	struct stat st;
	image_path(path, sizeof(path), number, "");
	return stat(path, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

int image_numbers(unsigned *lowest, unsigned *highest)
{
	DIR *dir = opendir(lower.opt.dir);
	int rc = -ENOENT;
	if (!dir)
		return -errno;
	*lowest = ~0u;
	*highest = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		unsigned number;
		int len = 0;
		if (sscanf(e->d_name, "ckpt-%u.img%n", &number, &len) != 1 || !len || e->d_name[len])
			continue;
		rc = 0;
		*lowest = number < *lowest ? number : *lowest;
		*highest = number > *highest ? number : *highest;
	}
	closedir(dir);
	return rc;
}

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "image/image_pack.h"
#include "base/io.h"
#include "base/private_file.h"

enum { PIECE = 1 << 20, LOOK = 64 << 10 /* bytes */ };

/* The compressed length; 0: it would save less than a quarter. */
static uint32_t packed(const void *data, uint64_t len, void *room)
{
	/* numbers of a simulation hardly shrink: a look at some of them costs less than to try all */
	if (len > 4 * LOOK && LZ4_compress_default((const char *)data + len / 2, room, LOOK, LOOK / 4 * 3) <= 0)
		return 0;
	const int n = LZ4_compress_default(data, room, (int)len, (int)(len / 4 * 3));
	return n > 0 ? (uint32_t)n : 0;
}

int image_write_run(int fd, struct image_run *run, const void *data, uint64_t *off, void *room)
{
	const uint32_t n = room ? packed(data, run->len, room) : 0;
	if (n)
		data = room;
	run->off = n ? *off : (*off + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	run->stored = n ? n : (uint32_t)run->len;
	run->check = crc32c_data(0, data, run->stored);
	*off = run->off + run->stored;
	return io_write_all(fd, data, run->stored, run->off, PIECE);
}

int image_unpack(const struct image_file *f, const struct image_run *run, void *to)
{
	uint64_t from = run->off & ~(RDB_PAGE - 1), skip = run->off - from;
	uint8_t *p = mmap(NULL, skip + run->stored, PROT_READ, MAP_PRIVATE | MAP_POPULATE, f->fd, (off_t)from);
	if (p == MAP_FAILED)
		return -errno;
	int n = LZ4_decompress_safe((const char *)p + skip, to, (int)run->stored, (int)run->len);
	munmap(p, skip + run->stored);
	if (n == (int)run->len)
		return 0;
	rdb_warn("%s: damaged: offset %lu: expected compressed pages", f->path, (unsigned long)run->off);
	return -EBADMSG;
}

struct packing {
	const uint8_t *raw; /* the whole old file, mapped */
	int fd;
	uint64_t off;
	uint8_t *room;
};

static int pack_run(struct packing *p, struct image_run *run)
{
	const uint8_t *data = p->raw + run->off;
	const uint32_t check = run->check;
	if (run->stored == run->len) {
		const int rc = image_write_run(p->fd, run, data, &p->off, p->room);
		if (run->stored == run->len)
			run->check = check; /* so damage stays damage */
		return rc;
	}
	run->off = p->off;
	p->off += run->stored;
	return io_write_all(p->fd, data, run->stored, run->off, PIECE);
}

static int pack(struct packing *p, const struct image_file *f, struct image_run *runs)
{
	const struct image_section *s = &f->header->sections[IMAGE_RUNS];
	struct image_header h = *f->header;
	/* header and the tables before the runs are unchanged */
	int rc = io_write_all(p->fd, f->map, s->off, 0, PIECE);
	p->off = s->off + s->len;
	for (uint64_t i = 0; i < f->nruns && !rc; i++)
		if (runs[i].image == h.number)
			rc = pack_run(p, &runs[i]);
	h.file_len = p->off;
	h.sections[IMAGE_RUNS].check = crc32c_data(0, runs, s->len);
	h.header_check = crc32c(0, &h, offsetof(struct image_header, header_check));
	if (!rc)
		rc = io_write_all(p->fd, runs, s->len, s->off, PIECE);
	return rc ? rc : io_write_all(p->fd, &h, sizeof(h), 0, PIECE);
}

int image_compress(unsigned number)
{
	static char temp[4096];
	static struct image_file f;
	int rc = image_open(&f, number, false);
	if (rc)
		return rc;
	size_t raw_len = f.header->file_len, runs_len = f.header->sections[IMAGE_RUNS].len;
	struct packing p = {.fd = -1};
	void *raw = mmap(NULL, raw_len, PROT_READ, MAP_PRIVATE, f.fd, 0);
	void *room = mmap(NULL, IMAGE_RUN_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct table runs = {0};
	rc = raw == MAP_FAILED || room == MAP_FAILED ? -ENOMEM : table_add(&runs, f.runs, runs_len);
	image_path(temp, sizeof(temp), number, ".part");
	if (!rc) {
		int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
		p.fd = fd < 0 ? fd : lower_fd(fd);
		rc = p.fd < 0 ? p.fd : 0;
	}
	p.raw = raw;
	p.room = room;
	if (!rc)
		rc = pack(&p, &f, (struct image_run *)runs.base);
	if (p.fd >= 0)
		rc = private_publish(p.fd, rc, temp, f.path);
	if (raw != MAP_FAILED)
		munmap(raw, raw_len);
	if (room != MAP_FAILED)
		munmap(room, IMAGE_RUN_MAX);
	table_drop(&runs);
	image_close(&f);
	return rc;
}

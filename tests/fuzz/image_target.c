/* Fuzz target: the input is read as an image: header, tables, pages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/crc32c.h"
#include "base/descriptors.h"
#include "image/image.h"
#include "target.h"

/* What image_file.c needs of the rest. */
struct lower lower;

void rdb_warn(const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

void rdb_fatal(const char *fmt, ...)
{
	abort();
}

int lower_fd(int fd)
{
	return fd;
}

/* Checksums that match: so that what lies behind them is reached. */
static void mend(uint8_t *data, size_t len)
{
	struct image_header *h = (void *)data;
	if (len < sizeof(*h))
		return;
	for (unsigned i = 0; i < IMAGE_SECTIONS; i++) {
		struct image_section *s = &h->sections[i];
		if (s->off <= len && s->len <= len - s->off)
			s->check = crc32c_data(0, data + s->off, s->len);
	}
	h->header_check = crc32c(0, h, offsetof(struct image_header, header_check));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char dir[64], path[96];
	static struct image_file f;
	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "/dev/shm/rdb-fuzz-%d", getpid());
		target_directory(dir);
		snprintf(path, sizeof(path), "%s/ckpt-000000.img", dir);
		lower.opt.dir = dir;
	}
	if (!len)
		return 0;
	uint8_t *copy = target_copy(data + 1, len - 1);
	if (data[0] & 1)
		mend(copy, len - 1);
	target_write(path, copy, len - 1);
	free(copy);
	if (image_open(&f, 0, true))
		return 0;
	volatile uint64_t sum = 0;
	for (uint64_t i = 0; i < f.nregions; i++)
		sum += f.regions[i].start + (uint64_t)f.regions[i].key[0];
	for (uint64_t i = 0; i < f.nruns; i++)
		if (image_find(&f, f.runs[i].addr) > f.nruns)
			abort();
	image_check_pages(&f);
	image_close(&f);
	return 0;
}

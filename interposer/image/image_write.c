#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "space/arena.h"
#include "base/crc32c.h"
#include "image/image.h"
#include "image/image_pack.h"
#include "image/image_pages.h"
#include "base/io.h"
#include "log/log_writer.h"
#include "base/private_file.h"

enum { PIECE = 1 << 20 }; /* bytes of one write */

const struct image_threads *image_threads;

static int write_file(int fd, const struct image_plan *plan, const struct table *regions, const struct table *runs,
		      uint32_t base)
{
	const struct {
		const void *p;
		size_t len, size;
	} parts[IMAGE_SECTIONS] = {
		[IMAGE_STATE] = {&lower.upper, sizeof(lower.upper), sizeof(lower.upper)},
		[IMAGE_THREADS] = {plan->threads.base, plan->threads.len, sizeof(struct image_thread)},
		[IMAGE_REGIONS] = {regions->base, regions->len, sizeof(struct image_region)},
		[IMAGE_RUNS] = {runs->base, runs->len, sizeof(struct image_run)},
	};
	struct image_header h = {
		.magic = RDB_IMAGE_MAGIC,
		.version = RDB_IMAGE_VERSION,
		.number = plan->number,
		.event = lower.event,
		.log_off = plan->log_off,
		.log_segment = plan->log_segment,
		.base = base,
		.state_size = sizeof(struct upper_state),
		.thread_size = sizeof(struct image_thread),
	};
	uint64_t off = sizeof(h);
	for (unsigned i = 0; i < IMAGE_SECTIONS; i++) {
		off = (off + 63) & ~63ul;
		h.sections[i] = (struct image_section){
			.off = off, .len = parts[i].len, .count = (uint32_t)(parts[i].len / parts[i].size)};
		off += parts[i].len;
	}
	void *room = plan->packed
			     ? mmap(NULL, IMAGE_RUN_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			     : NULL;
	int rc = room == MAP_FAILED ? -errno : 0;
	/* pages first: the run table says where they are */
	struct image_run *r = (void *)runs->base;
	for (; (uint8_t *)r < runs->base + runs->len && !rc; r++)
		if (r->image == plan->number)
			rc = image_write_run(fd, r, image_content(r->addr), &off, room);
	if (room && room != MAP_FAILED)
		munmap(room, IMAGE_RUN_MAX);
	h.file_len = off;
	for (unsigned i = 0; i < IMAGE_SECTIONS && !rc; i++) {
		h.sections[i].check = crc32c_data(0, parts[i].p, parts[i].len);
		rc = io_write_all(fd, parts[i].p, parts[i].len, h.sections[i].off, PIECE);
	}
	h.header_check = crc32c(0, &h, offsetof(struct image_header, header_check));
	if (!rc)
		rc = io_write_all(fd, &h, sizeof(h), 0, PIECE);
	return rc;
}

/* Opens the new file without a name, so that a killed process leaves no trace. *named: the file system cannot do that,
 * or not forked: it has the name `temp`. */
static int open_new(const char *temp, bool forked, bool *named)
{
	int fd = forked ? open(lower.opt.dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600) : -1;
	*named = fd < 0;
	if (fd < 0)
		fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	else if (fchmod(fd, 0600)) { /* whatever the program's umask says */
		const int err = -errno;
		close(fd);
		return err;
	}
	return fd < 0 ? fd : lower_fd(fd);
}

/* open(2), O_TMPFILE: how to name the file without privilege */
static int give_name(int fd, const char *path)
{
	char own[32];
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

int image_write(const struct image_plan *plan, bool forked)
{
	static char path[4096], temp[4096];
	struct table regions = {0}, runs = {0};
	uint32_t base = plan->number;
	bool named = false;
	image_path(path, sizeof(path), plan->number, "");
	image_path(temp, sizeof(temp), plan->number, ".part");
	int rc = image_pages(plan, &regions, &runs, &base), fd = -1;
	if (!rc) {
		fd = open_new(temp, forked, &named);
		rc = fd < 0 ? fd : write_file(fd, plan, &regions, &runs, base);
	}
	if (!rc)
		rc = named ? (rename(temp, path) ? -errno : 0) : give_name(fd, path);
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	if (rc && named)
		unlink(temp);
	if (!forked)
		image_pages_protect(&regions);
	table_drop(&regions);
	table_drop(&runs);
	return rc;
}

int image_write_first(const ucontext_t *uc)
{
	struct image_plan plan = {.number = 0};
	log_position(&plan.log_segment, &plan.log_off);
	int rc = image_threads->take(&plan.threads, uc);
	if (!rc)
		rc = image_write(&plan, false);
	table_drop(&plan.threads);
	return rc;
}

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "space/file_holes.h"

enum { LARGE = 2 << 20 }; /* smaller ones are read sooner than asked for */

/* What was last found.  It may be old: a file that has got more holes is read where it need not be. */
static struct {
	uint64_t dev, ino;
	uint64_t from, to; /* data in the file */
	uint64_t event;    /* when no descriptor was found */
	int fd;
} last = {.fd = -1};

static bool shows(const struct region *r, int fd)
{
	struct stat st;
	const long flags = raw_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
	return flags >= 0 && !(flags & O_PATH) && !fstat(fd, &st) && st.st_dev == r->file_dev &&
	       st.st_ino == r->file_ino && !descriptor_is_ours(fd);
}

/* A descriptor of the program that is open on the region's file.  One of our own would end the program's locks when it is
 * closed (fcntl(2)). */
static int descriptor_of(const struct region *r)
{
	const bool same = last.dev == r->file_dev && last.ino == r->file_ino;
	if (same && (last.fd < 0 ? last.event == lower.event : shows(r, last.fd)))
		return last.fd;
	last = (typeof(last)){.dev = r->file_dev, .ino = r->file_ino, .event = lower.event, .fd = -1};
	for (int fd = descriptors_highest(lower.lowest_fd - 1); fd >= 0 && last.fd < 0; fd--)
		if (shows(r, fd))
			last.fd = fd;
	return last.fd;
}

/* lseek(2) would move the program's descriptor. */
uint64_t region_data_from(const struct region *r, int fd, uint64_t off)
{
	const uint64_t size = r->end - r->start, from = r->offset + off;
	if (!r->file_ino || size <= LARGE || off >= size || (r->follows && fd < 0))
		return off;
	if (fd < 0)
		fd = descriptor_of(r);
	if (last.fd == fd && from >= last.from && from < last.to)
		return off;
	struct {
		struct fiemap map;
		struct fiemap_extent first;
	} asked = {.map = {.fm_start = from, .fm_length = r->offset + size - from, .fm_extent_count = 1}};
	if (fd < 0 || ioctl(fd, FS_IOC_FIEMAP, &asked))
		return off;
	const struct fiemap_extent *data = &asked.first;
	if (!asked.map.fm_mapped_extents)
		return size;
	if (last.fd == fd) {
		last.from = data->fe_logical;
		last.to = data->fe_logical + data->fe_length;
	}
	return data->fe_logical <= from ? off : data->fe_logical - r->offset;
}

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include "log/log_grown.h"
#include "log/log_short.h"

static int open_segment(const char *dir, unsigned index)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/log-%06u.seg", dir, index);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool counted_on(const struct log_record *rec, const struct log_entry *last)
{
	if (last->kind == LOG_ENTRY_TURNS)
		return ((const struct log_cycle *)rec)->count != last->repeat + 1;
	return !log_is_short(rec->size) && rec->repeat != last->repeat;
}

int log_grown(const char *dir, const struct log_entry *last)
{
	struct log_record rec = {0};
	uint32_t size = 0;
	int fd = open_segment(dir, last->segment);
	if (fd == -ENOENT)
		return 1; /* dropped since, so there is a later one */
	if (fd < 0)
		return fd;
	ssize_t got = pread(fd, &rec, sizeof(rec), (off_t)last->offset);
	ssize_t more = pread(fd, &size, sizeof(size), (off_t)(last->offset + last->size));
	close(fd);
	if (got < (ssize_t)sizeof(struct log_short) || (more == (ssize_t)sizeof(size) && size) ||
	    counted_on(&rec, last))
		return 1;
	fd = open_segment(dir, last->segment + 1);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	more = pread(fd, &size, sizeof(size), sizeof(struct log_segment_header)); /* it may only be allocated so far */
	close(fd);
	return more == (ssize_t)sizeof(size) && size;
}

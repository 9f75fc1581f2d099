#include "log/file_sum.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/crc32c.h"

/* A hole is not read: its pieces are all the same, and so is what crc32c_data() takes of each. */
static void skip_hole(int fd, struct file_sum *sum)
{
	static const char hole[FILE_SUM_PIECE];
	uint64_t quarters[4];
	off_t data = lseek(fd, (off_t)sum->size, SEEK_DATA);
	if (data < 0 && errno == ENXIO) /* only a hole is left */
		data = lseek(fd, 0, SEEK_END);
	if (data < (off_t)(sum->size + sizeof(hole)))
		return;
	const size_t taken = crc32c_quarters(hole, sizeof(hole), quarters);
	static_assert(sizeof(hole) % 32 == 0, "nothing is left beside the quarters");
	for (; data >= (off_t)(sum->size + taken); sum->size += taken)
		sum->crc = crc32c(sum->crc, quarters, sizeof(quarters));
}

int file_sum(int fd, struct file_sum *sum)
{
	char piece[FILE_SUM_PIECE];
	*sum = (struct file_sum){0};
	for (;;) {
		skip_hole(fd, sum);
		size_t have = 0;
		while (have < sizeof(piece)) {
			const ssize_t n = pread(fd, piece + have, sizeof(piece) - have, (off_t)(sum->size + have));
			if (n < 0 && errno != EINTR)
				return -errno;
			if (n == 0)
				break;
			have += n < 0 ? 0 : (size_t)n;
		}
		sum->crc = crc32c_data(sum->crc, piece, have);
		sum->size += have;
		if (have < sizeof(piece))
			return 0;
	}
}

bool file_sum_of_key(const char *key, struct file_sum *sum)
{
	const char *end = strrchr(key, '-');
	unsigned long size;
	unsigned crc;
	int used = 0;
	if (!end || sscanf(end, "-s%lx.%8x%n", &size, &crc, &used) != 2 || end[used])
		return false;
	*sum = (struct file_sum){.size = size, .crc = crc};
	return true;
}

size_t checked_line(char *line, size_t len)
{
	return len + (size_t)snprintf(line + len, CHECKED_LINE_END, " ~%08x\n", crc32c(0, line, len));
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int file_sum_line(const char *path, char *line, size_t room)
{
	struct file_sum sum;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	const int rc = file_sum(fd, &sum);
	close(fd);
	if (rc)
		return rc;
	const size_t len = (size_t)snprintf(line, room, "%s %lu %08x", name_of(path), (unsigned long)sum.size, sum.crc);
	return len + CHECKED_LINE_END > room ? -ENAMETOOLONG : (int)checked_line(line, len);
}

/* Checks a line of `sums`, and cuts off its end. */
static bool sound(char *line)
{
	char *end = strrchr(line, '~');
	char again[CHECKED_LINE_END];
	if (!end || end == line || end[-1] != ' ')
		return false;
	snprintf(again, sizeof(again), "~%08x\n", crc32c(0, line, (size_t)(end - 1 - line)));
	if (strcmp(end, again) != 0)
		return false;
	end[-1] = 0;
	return true;
}

static bool sum_beside(const char *path, struct file_sum *sum)
{
	const char *name = name_of(path);
	const size_t len = strlen(name);
	char line[PATH_MAX];
	bool found = false;
	snprintf(line, sizeof(line), "%.*s" FILE_SUMS, (int)(name - path), path);
	FILE *f = fopen(line, "re");
	unsigned long size;
	unsigned crc;
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, len) != 0 || line[len] != ' ' || !sound(line) ||
		    sscanf(line + len, " %lu %8x", &size, &crc) != 2)
			continue;
		*sum = (struct file_sum){.size = size, .crc = crc};
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

int file_sum_check(const char *path, struct file_sum *expected, struct file_sum *found)
{
	if (!file_sum_of_key(name_of(path), expected) && !sum_beside(path, expected))
		return 2;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	const int rc = file_sum(fd, found);
	close(fd);
	return rc ? rc : found->size == expected->size && found->crc == expected->crc;
}

#include "log/file_sum.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "log/crc32c.h"

int file_sum(int fd, struct file_sum *sum)
{
	char piece[FILE_SUM_PIECE];
	*sum = (struct file_sum){0};
	for (;;) {
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

int file_sum_check(const char *path, struct file_sum *expected, struct file_sum *found)
{
	const char *slash = strrchr(path, '/');
	if (!file_sum_of_key(slash ? slash + 1 : path, expected))
		return 2;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	const int rc = file_sum(fd, found);
	close(fd);
	return rc ? rc : found->size == expected->size && found->crc == expected->crc;
}

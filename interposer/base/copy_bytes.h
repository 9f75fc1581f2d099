/* Copies the contents of a file, by sharing blocks where the file system can. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Copies the first `size` bytes to the same offsets. Returns how many were copied (the file may have shrunk meanwhile),
 * or -errno. */
static inline int64_t copy_bytes(int from, int to, uint64_t size)
{
	char buf[65536];
	uint64_t at = 0;
	if (ioctl(to, FICLONE, from) == 0)
		return (int64_t)size;
	while (at < size) {
		off_t in = (off_t)at, out = (off_t)at;
		ssize_t n = copy_file_range(from, &in, to, &out, size - at, 0);
		if (n < 0) { /* not on this pair of file systems */
			n = pread(from, buf, sizeof(buf) < size - at ? sizeof(buf) : size - at, (off_t)at);
			if (n > 0)
				n = pwrite(to, buf, (size_t)n, (off_t)at);
		}
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (uint64_t)n;
	}
	return (int64_t)at;
}

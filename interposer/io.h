/* Writing files from places where a signal may reach: no stdio, no malloc. */
#ifndef RDB_IO_H
#define RDB_IO_H
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Writes all of it at `off`, at most `piece` bytes at a time.  0 or -errno. */
static inline int io_write_all(int fd, const void *data, size_t len, uint64_t off, size_t piece)
{
	const uint8_t *p = data;
	while (len) {
		ssize_t n = pwrite(fd, p, len < piece ? len : piece, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		off += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

#endif

/* Writes and reads files where a signal handler may run: no stdio, no malloc. */
#pragma once
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
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

/* Reads exactly `len` bytes, from where the file stands.  0 or -errno; -EIO: it ends before. */
static inline int io_read_all(int fd, void *data, size_t len)
{
	uint8_t *p = data;
	while (len) {
		ssize_t n = read(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

enum {
	IO_PIECE = 128 << 10, /* default size of one write */
	IO_PARTS = 16,
};

/* Writes many parts one after the other, gathered into pieces that start at multiples of their size: the
 * page cache then takes a few large pages instead of many small ones, and touches none of them twice. */
struct io_gather {
	int fd, rc;   /* rc: the first failure, -errno; nothing is written after it */
	size_t piece; /* 0: IO_PIECE */
	uint64_t off; /* where the next part goes */
	unsigned nparts;
	size_t len; /* bytes in the waiting parts */
	struct iovec parts[IO_PARTS];
};

static inline void io_gather_flush(struct io_gather *g)
{
	struct iovec *v = g->parts;
	while (g->len && !g->rc) {
		ssize_t n = pwritev(g->fd, v, (int)g->nparts, (off_t)(g->off - g->len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			g->rc = n ? -errno : -EIO;
			break;
		}
		g->len -= (size_t)n;
		for (; g->nparts && (size_t)n >= v->iov_len; v++, g->nparts--)
			n -= (ssize_t)v->iov_len;
		if (g->nparts) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	g->nparts = 0;
	g->len = 0;
}

/* The bytes must stay until the flush. */
static inline void io_gather_put(struct io_gather *g, const void *data, size_t len)
{
	const char *p = data;
	const size_t piece = g->piece ? g->piece : IO_PIECE;
	while (len) {
		size_t room = piece - g->off % piece, n = len < room ? len : room;
		g->parts[g->nparts++] = (struct iovec){.iov_base = (void *)p, .iov_len = n};
		g->off += n;
		g->len += n;
		p += n;
		len -= n;
		if (n == room || g->nparts == IO_PARTS)
			io_gather_flush(g);
	}
}

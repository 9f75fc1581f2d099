#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "log/log_copy.h"
#include "log/log_short.h"

enum { WINDOW = 1 << 16, LENGTH = 8 };

/* Bytes that a record takes; 0: none begins there, since the log ends or is damaged. */
static uint32_t taken(const uint8_t *at)
{
	uint32_t size;
	memcpy(&size, at, sizeof(size));
	size = log_size(size);
	return size < LENGTH || size % LENGTH ? 0 : size;
}

/* The file is read, not mapped: its writer truncates it when it goes on to the next. */
static int64_t end_of(int fd)
{
	uint8_t window[WINDOW];
	size_t off = sizeof(struct log_segment_header), from = 0, have = 0;
	struct stat st;
	for (;;) {
		if (off + LENGTH > from + have) {
			ssize_t got = pread(fd, window, sizeof(window), (off_t)off);
			if (got < 0 || (got < LENGTH && fstat(fd, &st)))
				return -errno;
			if (got < LENGTH)
				return st.st_size;
			from = off;
			have = (size_t)got;
		}
		const uint32_t size = taken(window + (off - from));
		if (!size)
			return (int64_t)off;
		off += size;
	}
}

int64_t log_end(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	int64_t end = end_of(fd);
	close(fd);
	return end;
}

struct mapped {
	int fd;
	uint8_t *base;
	size_t len;
};

static int map(struct mapped *m, const char *path, bool writable, size_t at_least)
{
	struct stat st;
	m->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
	if (m->fd < 0)
		return -errno;
	if (fstat(m->fd, &st) || ((size_t)st.st_size < at_least && ftruncate(m->fd, (off_t)at_least)))
		goto failed;
	m->len = (size_t)st.st_size < at_least ? at_least : (size_t)st.st_size;
	void *base = mmap(NULL, m->len, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, m->fd, 0);
	if (base == MAP_FAILED)
		goto failed;
	m->base = base;
	return 0;
failed:;
	int rc = -errno;
	close(m->fd);
	return rc;
}

static void unmap(const struct mapped *m)
{
	munmap(m->base, m->len);
	close(m->fd);
}

/* Word by word: counts are words, and others read them while they grow. */
static void store_words(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i + LENGTH <= bytes; i += LENGTH) {
		uint64_t word;
		memcpy(&word, from + i, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)(to + i), word, __ATOMIC_RELEASE);
	}
}

static void take_over(const struct mapped *into, const struct mapped *newer, size_t end)
{
	store_words(into->base, newer->base, end);
	while (newer->len - end >= LENGTH) {
		const uint32_t size = taken(newer->base + end);
		if (!size || size > newer->len - end)
			break;
		store_words(into->base + end + LENGTH, newer->base + end + LENGTH, size - LENGTH);
		store_words(into->base + end, newer->base + end, LENGTH);
		end += size;
	}
	memcpy(into->base + end, newer->base + end, newer->len - end); /* left by a writer that was killed */
}

int log_grow(const char *path, const char *newer)
{
	struct mapped from, into;
	int64_t end = log_end(path);
	if (end < 0)
		return (int)end;
	int rc = map(&from, newer, false, 1);
	if (rc)
		return rc;
	rc = map(&into, path, true, from.len);
	if (!rc) {
		take_over(&into, &from, (size_t)end < from.len ? (size_t)end : from.len);
		if (into.len > from.len && ftruncate(into.fd, (off_t)from.len))
			rc = -errno;
		unmap(&into);
	}
	unmap(&from);
	return rc;
}

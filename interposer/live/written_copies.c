#include "live/written_copies.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/live.h"
#include "live/open_files.h"
#include "process/descriptors.h"
#include "process/private_file.h"

/* The path without links on the way; the last part need not exist.  False: it cannot be resolved. */
bool open_whole_path(int dirfd, const char *path, char *out)
{
	char dir[4096], joined[4096], base[256];
	const struct opened *from = dirfd == AT_FDCWD ? NULL : open_at((uint64_t)dirfd);
	const char *start = path[0] == '/' ? "" : from ? from->path : ".";
	if ((size_t)snprintf(joined, sizeof(joined), "%s%s%s", start, *start ? "/" : "", path) >= sizeof(joined))
		return false;
	if (realpath(joined, out))
		return true;
	char *slash = strrchr(joined, '/');
	if ((size_t)snprintf(base, sizeof(base), "%s", slash ? slash + 1 : joined) >= sizeof(base))
		return false;
	if (slash)
		*slash = 0;
	if (!realpath(!slash ? "." : *joined ? joined : "/", dir))
		return false;
	return (size_t)snprintf(out, 4096, "%s/%s", strcmp(dir, "/") ? dir : "", base) < 4096;
}

static void copy_path(char *out, size_t size, unsigned number, const char *path)
{
	const char *slash = strrchr(path, '/');
	if ((size_t)snprintf(out, size, "%s/file-%u-%.200s", lower.opt.branch, number, slash ? slash + 1 : path) >=
	    size)
		live_refuse("%s: too long a path", path);
}

void copy_fill(const char *from, struct opened *f, uint64_t size)
{
	char buf[65536];
	int fd = descriptor_open(AT_FDCWD, from, O_RDONLY, 0);
	for (uint64_t done = 0; done < size;) {
		uint64_t want = size - done < sizeof(buf) ? size - done : sizeof(buf);
		ssize_t n = fd < 0 ? -1 : pread(fd, buf, want, (off_t)done);
		if (n <= 0 || pwrite(f->copy, buf, (size_t)n, (off_t)done) != n)
			live_refuse("%s: what was in it before is gone", from);
		done += (uint64_t)n;
	}
	close(fd);
}

/* What was in it before: the program truncated it, or only appends to what is there still. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note)
{
	if (f->flags & (O_TRUNC | O_EXCL) || (note && !note->size))
		return;
	if (!note)
		live_refuse("%s: what was in it before is not known", f->path);
	if (!(f->flags & O_APPEND))
		live_refuse("%s: it was opened with %lu bytes in it, which may have been written over since", f->path,
			    (unsigned long)note->size);
	copy_fill(f->path, f, note->size);
}

void copy_write(struct opened *f, uint64_t offset, const void *bytes, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		ssize_t n = pwrite(f->copy, (const char *)bytes + done, len - done, (off_t)(offset + done));
		if (n <= 0)
			live_refuse("%s: its copy cannot be written: %s", f->path, strerror(errno));
		done += (uint64_t)n;
	}
}

uint64_t copy_end(const struct opened *f)
{
	struct stat st;
	return fstat(f->copy, &st) ? 0 : (uint64_t)st.st_size;
}

void copy_new(struct opened *f)
{
	char copy[4096];
	copy_path(copy, sizeof(copy), open_table.copies++, f->path);
	int fd = private_create(AT_FDCWD, copy, O_RDWR | O_EXCL);
	f->copy = fd < 0 ? fd : lower_fd(fd);
	if (f->copy < 0)
		live_refuse("%s: %s", copy, strerror(-f->copy));
}

const char *open_files_path(int dirfd, const char *path)
{
	static char full[4096], link[64];
	if (!open_table.begun || lower.opt.in_place || !path || !open_table.copies)
		return path;
	if (dirfd != AT_FDCWD && path[0] != '/')
		return path;
	if (!open_whole_path(AT_FDCWD, path, full))
		return path;
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, full)) {
			snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
			return link;
		}
	return path;
}

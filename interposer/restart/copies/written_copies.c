#include "restart/copies/written_copies.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/copies/later_plan.h"
#include "restart/copies/own_attributes.h"
#include "answer/other_names.h"
#include "base/descriptors.h"
#include "base/private_file.h"
#include "space/side_files.h"
#include "replay/replay.h"

void copy_place(char *out, size_t size, const char *path)
{
	const unsigned number = open_table.copies++;
	const char *slash = strrchr(path, '/');
	const char *dir = replaying() ? lower.opt.branch : lower.opt.dir; /* differs for a child */
	if ((size_t)snprintf(out, size, "%s/file-%u-%.200s", dir, number, slash ? slash + 1 : path) >= size)
		live_refuse("%s: too long a path", path);
}

void copy_where(int copy, char place[LONGEST])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", copy);
	const ssize_t n = readlink(link, place, LONGEST - 1);
	place[n < 0 ? 0 : n] = 0;
}

void copy_fill(const char *from, struct opened *f, uint64_t size)
{
	char buf[65536];
	int fd = descriptor_open(AT_FDCWD, from, O_RDONLY, 0);
	for (uint64_t done = 0; done < size;) {
		uint64_t want = size - done < sizeof(buf) ? size - done : sizeof(buf);
		ssize_t n = fd < 0 ? -1 : pread(fd, buf, want, (off_t)done);
		if (n <= 0 || pwrite(f->copy, buf, (size_t)n, (off_t)done) != n)
			live_refuse("%s: its earlier content is gone", from);
		done += (uint64_t)n;
	}
	close(fd);
}

void copy_keep(const char *kept, const char *from, uint64_t size)
{
	struct opened to = {.copy = private_create(AT_FDCWD, kept, O_RDWR | O_EXCL)};
	if (to.copy < 0)
		live_refuse("%s: %s", kept, strerror(-to.copy));
	copy_fill(from, &to, size);
	own_attributes_keep(from, to.copy);
	close(to.copy);
}

void copy_keep_opened(const char *kept, const struct opened *f)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
	copy_keep(kept, link, copy_end(f));
}

/* Puts in the copy what was in the file before, unless the program truncated it; if it only appends, that is still
 * there. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note)
{
	if (f->flags & (O_TRUNC | O_EXCL) || (note && !note->size))
		return;
	struct stat st;
	char there[LONGEST];
	size_t len = 0;
	const struct rdb_note_was *was = log_note(replay_record(), RDB_NOTE_WAS, &len);
	if (was && len > sizeof(*was) && was->was == RDB_WAS_KEPT) {
		char kept[LONGEST + 32];
		snprintf(kept, sizeof(kept), "%s/kept-%u", lower.opt.restart, was->number);
		const char *why = side_file_damaged(kept);
		if (why)
			live_refuse("%s", why);
		copy_fill(kept, f, was->size);
		return;
	}
	if (!note)
		snprintf(f->why, sizeof(f->why), "its earlier content is not known");
	else if (!(f->flags & O_APPEND))
		snprintf(f->why, sizeof(f->why),
			 "it had %lu bytes when it was opened, which may have been written over since",
			 (unsigned long)note->size);
	if (*f->why && note && ftruncate(f->copy, (off_t)note->size)) /* mappings may cover all of it */
		live_refuse("%s: its copy cannot be made: %s", f->path, strerror(errno));
	if (*f->why || !note)
		return;
	later_before(f->path, there);
	if (stat(there, &st) || (uint64_t)st.st_size < note->size)
		snprintf(f->why, sizeof(f->why), "its earlier content is gone");
	else
		copy_fill(there, f, note->size);
}

void copy_write(struct opened *f, uint64_t offset, const void *bytes, uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		ssize_t n = pwrite(f->copy, (const char *)bytes + done, len - done, (off_t)(offset + done));
		if (n <= 0)
			live_refuse("%s: its copy cannot be written: %s", f->path, strerror(errno));
		done += (uint64_t)n;
	}
	own_attributes_written(f->copy);
}

uint64_t copy_end(const struct opened *f)
{
	struct stat st;
	return fstat(f->copy, &st) ? 0 : (uint64_t)st.st_size;
}

void copy_new(struct opened *f)
{
	char copy[4096];
	copy_place(copy, sizeof(copy), f->path);
	int fd = private_create(AT_FDCWD, copy, O_RDWR | O_EXCL);
	f->copy = fd < 0 ? fd : lower_fd(fd);
	if (f->copy < 0)
		live_refuse("%s: %s", copy, strerror(-f->copy));
}

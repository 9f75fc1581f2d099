#include "live/written_copies.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/live.h"
#include "live/open_files.h"
#include "live/own_files.h"
#include "live/own_table.h"
#include "process/descriptors.h"
#include "process/private_file.h"
#include "replay/replay.h"

bool open_whole_path(int dirfd, const char *path, char *out, bool follow)
{
	char dir[4096], joined[4096], base[256];
	const struct opened *from = dirfd == AT_FDCWD ? NULL : open_at((uint64_t)dirfd);
	const char *start = path[0] == '/' ? "" : from ? from->path : ".";
	if (!strcmp(start, "."))
		start = getcwd(dir, sizeof(dir)) ? dir : ".";
	*out = 0;
	if ((size_t)snprintf(joined, sizeof(joined), "%s%s%s", start, *start ? "/" : "", path) >= sizeof(joined))
		return false;
	if (follow && realpath(joined, out))
		return true;
	memcpy(out, joined, strlen(joined) + 1);
	char *slash = strrchr(joined, '/');
	if ((size_t)snprintf(base, sizeof(base), "%s", slash ? slash + 1 : joined) >= sizeof(base))
		return false;
	if (slash)
		*slash = 0;
	if (!realpath(!slash ? "." : *joined ? joined : "/", dir))
		return false;
	return (size_t)snprintf(out, 4096, "%s/%s", strcmp(dir, "/") ? dir : "", base) < 4096;
}

void copy_place(char *out, size_t size, const char *path)
{
	const unsigned number = open_table.copies++;
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

void copy_keep(const char *kept, const char *from, uint64_t size)
{
	struct opened to = {.copy = private_create(AT_FDCWD, kept, O_RDWR | O_EXCL)};
	if (to.copy < 0)
		live_refuse("%s: %s", kept, strerror(-to.copy));
	copy_fill(from, &to, size);
	close(to.copy);
}

void copy_keep_opened(const char *kept, const struct opened *f)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
	copy_keep(kept, link, copy_end(f));
}

/* What was in it before: the program truncated it, or only appends to what is there still. */
void copy_fill_before(struct opened *f, const struct rdb_note_opened *note)
{
	if (f->flags & (O_TRUNC | O_EXCL) || (note && !note->size))
		return;
	struct stat st;
	size_t len = 0;
	const struct rdb_note_was *was = replay_note(RDB_NOTE_WAS, &len);
	if (was && len > sizeof(*was) && was->was == RDB_WAS_KEPT) {
		char kept[LONGEST + 32];
		snprintf(kept, sizeof(kept), "%s/kept-%u", lower.opt.restart, was->number);
		copy_fill(kept, f, was->size);
		return;
	}
	if (!note)
		snprintf(f->why, sizeof(f->why), "what was in it before is not known");
	else if (!(f->flags & O_APPEND))
		snprintf(f->why, sizeof(f->why),
			 "it was opened with %lu bytes in it, which may have been written over since",
			 (unsigned long)note->size);
	else if (stat(f->path, &st) || (uint64_t)st.st_size < note->size)
		snprintf(f->why, sizeof(f->why), "what was in it before is gone");
	else
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
	copy_place(copy, sizeof(copy), f->path);
	int fd = private_create(AT_FDCWD, copy, O_RDWR | O_EXCL);
	f->copy = fd < 0 ? fd : lower_fd(fd);
	if (f->copy < 0)
		live_refuse("%s: %s", copy, strerror(-f->copy));
}

/* Lines of the plan, which knows all ranks: where the branch's own file is (empty: nowhere), and what it is a copy of
 * (rdb/live/later_files.py). */
void later_files_load(void)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/../later-files", lower.opt.branch);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return;
	const char *line = NULL;
	if (fstat(fd, &st) == 0 && st.st_size) {
		/* a zero follows the last line */
		void *p = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
		line = p == MAP_FAILED || st.st_size % 4096 == 0 ? NULL : p;
	}
	close(fd);
	if (!line)
		live_refuse("%s cannot be read", path);
	while (*line) {
		char place[4096], full[4096];
		const char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
		if (!tab || !end)
			break;
		snprintf(place, sizeof(place), "%.*s", (int)(tab - line), line);
		snprintf(full, sizeof(full), "%.*s", (int)(end - tab - 1), tab + 1);
		own_forget(full);
		if (*place)
			own_add(full, place);
		line = end + 1;
	}
}

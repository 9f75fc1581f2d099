#include "restart/written_copies.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/given_files.h"
#include "restart/live.h"
#include "restart/open_files.h"
#include "restart/own_attributes.h"
#include "restart/own_files.h"
#include "restart/own_table.h"
#include "base/descriptors.h"
#include "base/private_file.h"
#include "space/side_files.h"
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
	const char *dir = replaying() ? lower.opt.branch : lower.opt.dir; /* of a child of the branch, another one */
	if ((size_t)snprintf(out, size, "%s/file-%u-%.200s", dir, number, slash ? slash + 1 : path) >= size)
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
	own_attributes_keep(from, to.copy);
	close(to.copy);
}

void copy_keep_opened(const char *kept, const struct opened *f)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->copy);
	copy_keep(kept, link, copy_end(f));
}

/* Lines of the plan, which knows all processes: PLACE, a tab, the path that it is for (rdb/live/files/later_files.py). */
static const char *plan_lines(void)
{
	static const char *lines;
	char path[LONGEST];
	struct stat st;
	if (lines)
		return lines;
	lines = "";
	snprintf(path, sizeof(path), "%s", lower.opt.branch);
	char *rank = strstr(path, "/rank-");
	for (char *next = rank; next; next = strstr(next + 1, "/rank-"))
		rank = next; /* a child's is below it */
	if (!rank)
		live_refuse("%s is no rank's directory", path);
	snprintf(rank, sizeof(path) - (size_t)(rank - path), "/later-files");
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return lines;
	const void *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size && st.st_size % 4096) /* a zero follows the last line */
		p = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		live_refuse("%s cannot be read", path);
	return lines = p;
}

static bool plan_line(const char **line, char *place, char *full)
{
	const char *tab = strchr(*line, '\t'), *end = strchr(*line, '\n');
	if (!tab || !end)
		return false;
	snprintf(place, LONGEST, "%.*s", (int)(tab - *line), *line);
	snprintf(full, LONGEST, "%.*s", (int)(end - tab - 1), tab + 1);
	*line = end + 1;
	return true;
}

/* Several had it open, and the plan has made what was in it then: they all go on with that. */
static void planned(const char *path, const char *place)
{
	own_add(path, place);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (f->kind != FILE_WRITTEN || strcmp(f->path, path) || lower.opt.in_place)
			continue;
		lower_fd_close(f->copy);
		f->copy = lower_fd(descriptor_open(AT_FDCWD, place, O_RDWR, 0));
		if (f->copy < 0)
			live_refuse("%s: %s", place, strerror(-f->copy));
		f->offset = copy_end(f);
		f->shared = 0; /* each appends by itself */
		f->made = 0;
		f->several = false;
		*f->why = 0;
	}
}

/* "/...": the branch's own file is there; "!/...": the same, which those have open that had the file open; "": the real one is all ranks'; "+/...": who has it open, or had left it, puts it
 * there. */
void later_files_load(void)
{
	char place[LONGEST], full[LONGEST];
	for (const char *line = plan_lines(); plan_line(&line, place, full);) {
		if (*place == '=' || (*place == '+' && !given_here()))
			continue;
		if (*place == '+') {
			own_given(full, place + 1);
			continue;
		}
		own_forget(full);
		if (*place == '!')
			planned(full, place + 1);
		else if (*place)
			own_add(full, place);
	}
}

/* "=/...": what was appended to is the beginning of this, and "=": it is nowhere any more. */
static void appended_to(const char *path, char *out)
{
	char place[LONGEST], full[LONGEST];
	snprintf(out, LONGEST, "%s", path);
	for (const char *line = plan_lines(); plan_line(&line, place, full);)
		if (*place == '=' && !strcmp(full, path))
			snprintf(out, LONGEST, "%s", place + 1);
}

/* What was in it before: the program truncated it, or only appends to what is there still. */
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
		snprintf(f->why, sizeof(f->why), "what was in it before is not known");
	else if (!(f->flags & O_APPEND))
		snprintf(f->why, sizeof(f->why),
			 "it was opened with %lu bytes in it, which may have been written over since",
			 (unsigned long)note->size);
	if (*f->why && note && ftruncate(f->copy, (off_t)note->size)) /* what is mapped of it may be all of it */
		live_refuse("%s: its copy cannot be made: %s", f->path, strerror(errno));
	if (*f->why || !note)
		return;
	appended_to(f->path, there);
	if (stat(there, &st) || (uint64_t)st.st_size < note->size)
		snprintf(f->why, sizeof(f->why), "what was in it before is gone");
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

#include "restart/mapped_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/branch_file.h"
#include "restart/live.h"
#include "restart/own_table.h"
#include "restart/written_copies.h"
#include "base/private_file.h"
#include "base/pids.h"

enum { MAPPED = 64, BATCH = 64 << 10, PAGE = 4096 };

static struct {
	uint32_t n, nlost;
	struct mapped_file list[MAPPED];
	char lost[MAPPED][4096]; /* a branch's own, which several processes had mapped, and this one has no more */
} mapped;

static struct mapped_file *new_one(void)
{
	if (mapped.n == MAPPED)
		live_refuse("it has more than %d files mapped shared", MAPPED);
	return &mapped.list[mapped.n++];
}

static uint64_t up(uint64_t len)
{
	return (len + PAGE - 1) & ~(PAGE - 1ul);
}

void mapped_file_made(uint64_t start, uint64_t len, uint64_t offset, struct opened *f)
{
	struct mapped_file *m = new_one();
	*m = (struct mapped_file){.start = start, .end = start + up(len), .offset = offset};
	m->copy = lower_fd(fcntl(f->copy, F_DUPFD_CLOEXEC, 0));
	if (m->copy < 0)
		live_refuse("%s: its copy cannot be kept: %s", f->path, strerror(-m->copy));
	memcpy(m->why, f->why, sizeof(m->why));
	strcpy(m->path, f->path);
}

/* What the program has stored there. */
static void flush(const struct mapped_file *m, uint64_t start, uint64_t end)
{
	static char bytes[BATCH];
	struct stat st;
	int fd = descriptor_open(AT_FDCWD, "/proc/self/mem", O_RDONLY, 0); /* proc(5): whatever its protection is */
	if (fd < 0 || fstat(m->copy, &st))
		live_refuse("%s: what is mapped of it cannot be read", m->path);
	for (uint64_t at = start, n; at < end; at += n) {
		const uint64_t off = m->offset + at - m->start, size = (uint64_t)st.st_size;
		n = end - at < BATCH ? end - at : BATCH;
		if (off >= size)
			break;
		n = size - off < n ? size - off : n;
		if (pread(fd, bytes, n, (off_t)at) != (ssize_t)n || pwrite(m->copy, bytes, n, (off_t)off) != (ssize_t)n)
			live_refuse("%s: its copy cannot be written: %s", m->path, strerror(errno));
	}
	close(fd);
}

static bool alone(void)
{
	return !pids() || pids()->n <= 1;
}

static void place_of(int copy, char place[LONGEST])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", copy);
	const ssize_t n = readlink(link, place, LONGEST - 1);
	place[n < 0 ? 0 : n] = 0;
}

static bool has_open(const char *path)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, path))
			return true;
	return false;
}

/* As one that is closed (own_files.h): what the program has left in it is the branch's. */
static void leave(const struct mapped_file *m)
{
	char place[LONGEST];
	if (!*m->path || has_open(m->path) || mapped_file_copy(m->path) >= 0)
		return;
	place_of(m->copy, place);
	if (alone())
		own_new(m->path, place, !*m->why, true);
	else if (m->born && mapped.nlost < MAPPED)
		strcpy(mapped.lost[mapped.nlost++], m->path);
}

static void drop(unsigned i)
{
	const struct mapped_file gone = mapped.list[i];
	mapped.list[i] = mapped.list[--mapped.n];
	leave(&gone);
	lower_fd_close(gone.copy);
}

/* Which of several processes did that last, nobody knows then. */
static void not_known(struct mapped_file *m)
{
	snprintf(m->why, sizeof(m->why), "it was mapped, and what was stored there is not followed");
	for (struct opened *f = open_table.opened; *m->path && f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, m->path))
			memcpy(f->why, m->why, sizeof(f->why));
}

static void unmapped(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < mapped.n;) {
		struct mapped_file *m = &mapped.list[i];
		const uint64_t from = m->start > start ? m->start : start, to = m->end < end ? m->end : end;
		if (from >= to) {
			i++;
			continue;
		}
		if (alone())
			flush(m, from, to);
		else
			not_known(m);
		struct mapped_file head = *m, tail = *m;
		head.end = from;
		tail.start = to;
		tail.offset += to - m->start;
		if (head.end > head.start) {
			*m = head;
			i++;
		}
		if (tail.end > tail.start && head.end > head.start) {
			tail.copy = lower_fd(fcntl(m->copy, F_DUPFD_CLOEXEC, 0));
			if (tail.copy < 0)
				live_refuse("%s: its copy cannot be kept: %s", m->path, strerror(-tail.copy));
			*new_one() = tail;
		} else if (tail.end > tail.start) {
			*m = tail;
			i++;
		} else if (head.end <= head.start) {
			drop(i);
		}
	}
}

void mapped_files_asked(uint32_t nr, const uint64_t args[6])
{
	open_table_begin(); /* what a branch began with */
	if (nr == SYS_munmap || (nr == SYS_mmap && args[3] & MAP_FIXED))
		unmapped(args[0], args[0] + up(args[1]));
	for (unsigned i = 0; nr == SYS_mremap && i < mapped.n; i++)
		if (args[0] < mapped.list[i].end && args[0] + args[1] > mapped.list[i].start)
			snprintf(mapped.list[i].why, sizeof(mapped.list[i].why), "it was mapped, and moved in memory");
}

void mapped_files_renamed(const char *from, const char *to)
{
	for (struct mapped_file *m = mapped.list; m < mapped.list + mapped.n; m++)
		if (!strcmp(m->path, from))
			snprintf(m->path, sizeof(m->path), "%s", to);
}

void mapped_files_unlinked(const char *path)
{
	for (struct mapped_file *m = mapped.list; m < mapped.list + mapped.n; m++)
		if (!strcmp(m->path, path))
			*m->path = 0;
}

int mapped_file_copy(const char *path)
{
	for (const struct mapped_file *m = mapped.list; *path && m < mapped.list + mapped.n; m++)
		if (!strcmp(m->path, path))
			return m->copy;
	return -1;
}

/* ---- from one program to another ---- */

bool mapped_files_hand_on(int fd)
{
	const size_t len = mapped.n * sizeof(*mapped.list);
	return write(fd, &mapped.n, sizeof(mapped.n)) == sizeof(mapped.n) &&
	       write(fd, mapped.list, len) == (ssize_t)len;
}

bool mapped_files_inherit(int fd)
{
	return read(fd, &mapped.n, sizeof(mapped.n)) == sizeof(mapped.n) && mapped.n <= MAPPED &&
	       read(fd, mapped.list, mapped.n * sizeof(*mapped.list)) == (ssize_t)(mapped.n * sizeof(*mapped.list));
}

void mapped_files_keep(void)
{
	for (const struct mapped_file *m = mapped.list; m < mapped.list + mapped.n; m++)
		fcntl(m->copy, F_SETFD, 0);
}

void mapped_files_gone(void)
{
	unmapped(0, UINT64_MAX);
}

/* ---- at the cut ---- */

bool mapped_files_any(void)
{
	return mapped.n;
}

void mapped_files_close(void)
{
	while (mapped.n)
		lower_fd_close(mapped.list[--mapped.n].copy);
}

const struct mapped_file *mapped_file_at(uint64_t start)
{
	for (const struct mapped_file *m = mapped.list; m < mapped.list + mapped.n; m++)
		if (start >= m->start && start < m->end)
			return m;
	return NULL;
}

static void names_file(char path[LONGEST])
{
	snprintf(path, LONGEST, "%s/mapped-names", lower.opt.tree);
}

void mapped_file_name(const struct mapped_file *m)
{
	char path[LONGEST], place[LONGEST];
	if (!*m->path)
		return;
	place_of(m->copy, place);
	names_file(path);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_APPEND);
	if (fd < 0 || dprintf(fd, "%s\t%s\n", place, m->path) < 0)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	close(fd);
}

/* Who has it open by itself has another copy. */
static void same_everywhere(const char *path, const char *place)
{
	struct stat one, other;
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, path) &&
		    (fstat(f->copy, &one) || stat(place, &other) || one.st_ino != other.st_ino))
			live_refuse("%s: it is mapped shared, and open in several processes, by each itself", path);
}

void mapped_files_named(void)
{
	char path[LONGEST], line[2 * LONGEST];
	names_file(path);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
	while (lines && fgets(line, sizeof(line), lines)) {
		char *tab = strchr(line, '\t');
		if (!tab)
			live_refuse("%s is damaged", path);
		*tab++ = 0;
		tab[strcspn(tab, "\n")] = 0;
		same_everywhere(tab, line);
		struct own *before = own_find(tab); /* what the plan has put there is older */
		if (before)
			own_leave(before);
		own_new(tab, line, true, false);
		for (unsigned i = 0; i < mapped.nlost; i++)
			if (!strcmp(mapped.lost[i], tab))
				*mapped.lost[i] = 0;
	}
	if (lines)
		fclose(lines);
	for (unsigned i = 0; i < mapped.nlost; i++)
		if (*mapped.lost[i])
			live_refuse(
				"%s: several processes had it mapped shared, and have it no more: choose another event",
				mapped.lost[i]);
}

/* `mapped-files`: START END OFFSET PATH, a line for each; `mapped-N-was` has what is in it. */
void mapped_files_save(void)
{
	char path[LONGEST + 32];
	struct stat st;
	if (!mapped.n)
		return;
	FILE *f = branch_file_begin("mapped-files");
	for (uint32_t i = 0; i < mapped.n; i++) {
		const struct mapped_file *m = &mapped.list[i];
		char place[LONGEST];
		place_of(m->copy, place);
		fprintf(f, "%lu %lu %lu %s\n", (unsigned long)m->start, (unsigned long)m->end, (unsigned long)m->offset,
			m->path);
		snprintf(path, sizeof(path), "%s/mapped-%u-was", lower.opt.branch, i);
		if (strchr(m->path, '\n') || fstat(m->copy, &st))
			live_refuse("%s: it cannot be written down", m->path);
		snprintf(place, sizeof(place), "/proc/self/fd/%d", m->copy);
		copy_keep(path, place, (uint64_t)st.st_size);
	}
	branch_file_end(f, "mapped-files");
}

static int open_already(const char *path)
{
	for (const struct opened *f = open_table.opened; *path && f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, path))
			return fcntl(f->copy, F_DUPFD_CLOEXEC, 0);
	const int copy = mapped_file_copy(path);
	return copy < 0 ? -1 : fcntl(copy, F_DUPFD_CLOEXEC, 0);
}

static void load_one(const char *line, unsigned number)
{
	char was[LONGEST + 32];
	static struct opened of;
	struct mapped_file m = {0};
	unsigned long v[3];
	struct stat st;
	int used = 0;
	if (sscanf(line, "%lu %lu %lu %n", v, v + 1, v + 2, &used) != 3 || !used)
		live_refuse("%s/mapped-files is damaged", lower.opt.restart);
	m.start = v[0];
	m.end = v[1];
	m.offset = v[2];
	snprintf(m.path, sizeof(m.path), "%.*s", (int)strcspn(line + used, "\n"), line + used);
	m.born = true;
	const int open = open_already(m.path);
	if (open >= 0) {
		m.copy = lower_fd(open);
	} else {
		snprintf(was, sizeof(was), "%s/mapped-%u-was", lower.opt.restart, number);
		if (stat(was, &st))
			live_refuse("%s: %s", was, strerror(errno));
		strcpy(of.path, m.path);
		copy_new(&of);
		copy_fill(was, &of, (uint64_t)st.st_size);
		m.copy = of.copy;
	}
	if (m.copy < 0)
		live_refuse("%s: its copy cannot be kept: %s", m.path, strerror(-m.copy));
	*new_one() = m;
}

void mapped_files_load(void)
{
	char path[LONGEST + 32], line[LONGEST + 80];
	snprintf(path, sizeof(path), "%s/mapped-files", lower.opt.restart);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
	for (unsigned number = 0; lines && fgets(line, sizeof(line), lines); number++)
		load_one(line, number);
	if (lines)
		fclose(lines);
}

#include "restart/copies/mapped_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/copies/own_table.h"
#include "restart/copies/written_copies.h"
#include "base/private_file.h"
#include "base/pids.h"
#include "base/table.h"

enum { BATCH = 64 << 10, PAGE = 4096 };

static struct {
	struct table list; /* struct mapped_file */
	struct table lost; /* paths of own files that several processes had mapped, this one no more */
} mapped;

static struct mapped_file *first(void)
{
	return (void *)mapped.list.base;
}

static struct mapped_file *end(void)
{
	return first() + mapped.list.len / sizeof(struct mapped_file);
}

static struct mapped_file *add(const struct mapped_file *m)
{
	if (table_add(&mapped.list, m, sizeof(*m)))
		live_refuse("out of memory for the list of files that it has mapped shared");
	return end() - 1;
}

static uint64_t up(uint64_t len)
{
	return (len + PAGE - 1) & ~(PAGE - 1ul);
}

void mapped_file_made(uint64_t start, uint64_t len, uint64_t offset, struct opened *f)
{
	const struct mapped_file made = {.start = start, .end = start + up(len), .offset = offset};
	struct mapped_file *m = add(&made);
	m->copy = lower_fd(fcntl(f->copy, F_DUPFD_CLOEXEC, 0));
	if (m->copy < 0)
		live_refuse("%s: its copy cannot be kept: %s", f->path, strerror(-m->copy));
	memcpy(m->why, f->why, sizeof(m->why));
	strcpy(m->path, f->path);
}

/* Writes what the program has stored there to the copy. */
static void flush(const struct mapped_file *m, uint64_t start, uint64_t end)
{
	static char bytes[BATCH];
	struct stat st;
	int fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDONLY,
				 0); /* proc(5): whatever its protection is */
	if (fd < 0 || fstat(m->copy, &st))
		live_refuse("%s: its mapping cannot be read", m->path);
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

static bool has_open(const char *path)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, path))
			return true;
	return false;
}

/* Like a file that is closed (own_files.h): what the program has left in it is the branch's. */
static void leave(const struct mapped_file *m)
{
	char place[LONGEST];
	if (!*m->path || has_open(m->path) || mapped_file_copy(m->path) >= 0)
		return;
	copy_where(m->copy, place);
	if (alone())
		own_new(m->path, place, !*m->why, true);
	else if (m->born && table_add(&mapped.lost, m->path, sizeof(m->path)))
		live_refuse("out of memory for the list of files that it had mapped shared");
}

static void drop(unsigned i)
{
	const struct mapped_file gone = first()[i];
	first()[i] = *(end() - 1);
	mapped.list.len -= sizeof(gone);
	leave(&gone);
	lower_fd_close(gone.copy);
}

/* It is not known then which of several processes stored last. */
static void not_known(struct mapped_file *m)
{
	snprintf(m->why, sizeof(m->why),
		 "several processes had it mapped, and it is not known which of them wrote last");
	for (struct opened *f = open_table.opened; *m->path && f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, m->path))
			memcpy(f->why, m->why, sizeof(f->why));
}

static void unmapped(uint64_t start, uint64_t until)
{
	for (unsigned i = 0; first() + i < end();) {
		struct mapped_file *m = first() + i;
		const uint64_t from = m->start > start ? m->start : start, to = m->end < until ? m->end : until;
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
			add(&tail);
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
	open_table_begin(); /* the table has what a branch began with */
	if (nr == SYS_munmap || (nr == SYS_mmap && args[3] & MAP_FIXED))
		unmapped(args[0], args[0] + up(args[1]));
	for (struct mapped_file *m = first(); nr == SYS_mremap && m < end(); m++)
		if (args[0] < m->end && args[0] + args[1] > m->start)
			snprintf(m->why, sizeof(m->why), "its mapping was moved in memory (mremap)");
}

void mapped_files_renamed(const char *from, const char *to)
{
	for (struct mapped_file *m = first(); m < end(); m++)
		if (!strcmp(m->path, from))
			snprintf(m->path, sizeof(m->path), "%s", to);
}

void mapped_files_unlinked(const char *path)
{
	for (struct mapped_file *m = first(); m < end(); m++)
		if (!strcmp(m->path, path))
			*m->path = 0;
}

int mapped_file_copy(const char *path)
{
	for (const struct mapped_file *m = first(); *path && m < end(); m++)
		if (!strcmp(m->path, path))
			return m->copy;
	return -1;
}

/* ---- from one program to another ---- */

bool mapped_files_hand_on(int fd)
{
	const uint64_t len = mapped.list.len;
	bool written = write(fd, &len, sizeof(len)) == sizeof(len);
	for (const struct mapped_file *m = first(); written && m < end(); m++)
		written = write(fd, m, sizeof(*m)) == sizeof(*m);
	return written;
}

bool mapped_files_inherit(int fd)
{
	struct mapped_file m;
	uint64_t len;
	if (read(fd, &len, sizeof(len)) != sizeof(len))
		return false;
	for (mapped.list.len = 0; mapped.list.len < len; add(&m))
		if (read(fd, &m, sizeof(m)) != sizeof(m))
			return false;
	return true;
}

void mapped_files_keep(void)
{
	for (const struct mapped_file *m = first(); m < end(); m++)
		fcntl(m->copy, F_SETFD, 0);
}

void mapped_files_gone(void)
{
	unmapped(0, UINT64_MAX);
}

/* ---- at the cut ---- */

bool mapped_files_any(void)
{
	return mapped.list.len;
}

void mapped_files_close(void)
{
	for (const struct mapped_file *m = first(); m < end(); m++)
		lower_fd_close(m->copy);
	mapped.list.len = 0;
}

const struct mapped_file *mapped_file_at(uint64_t start)
{
	for (const struct mapped_file *m = first(); m < end(); m++)
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
	copy_where(m->copy, place);
	names_file(path);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_APPEND);
	if (fd < 0 || dprintf(fd, "%s\t%s\n", place, m->path) < 0)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	close(fd);
}

/* A process that has opened the file by itself has another copy. */
static void same_everywhere(const char *path, const char *place)
{
	struct stat one, other;
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN && !strcmp(f->path, path) &&
		    (fstat(f->copy, &one) || stat(place, &other) || one.st_ino != other.st_ino))
			live_refuse("%s: it is mapped shared, and several processes have opened it, each by itself",
				    path);
}

static char *lost_at(size_t i)
{
	return (char *)mapped.lost.base + i;
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
		struct own *before = own_find(tab); /* the plan's version is older */
		if (before)
			own_leave(before);
		own_new(tab, line, true, false);
		for (size_t i = 0; i < mapped.lost.len; i += LONGEST)
			if (!strcmp(lost_at(i), tab))
				*lost_at(i) = 0;
	}
	if (lines)
		fclose(lines);
	for (size_t i = 0; i < mapped.lost.len; i += LONGEST)
		if (*lost_at(i))
			live_refuse("%s: several processes had it mapped shared, and have unmapped it: choose another "
				    "event",
				    lost_at(i));
}

/* Writes `mapped-files`, a line for each: START END OFFSET PATH.  `mapped-N-was` has the content. */
void mapped_files_save(void)
{
	char path[LONGEST + 32];
	struct stat st;
	if (!mapped_files_any())
		return;
	FILE *f = branch_file_begin("mapped-files");
	for (const struct mapped_file *m = first(); m < end(); m++) {
		char place[LONGEST];
		copy_where(m->copy, place);
		fprintf(f, "%lu %lu %lu %s\n", (unsigned long)m->start, (unsigned long)m->end, (unsigned long)m->offset,
			m->path);
		snprintf(path, sizeof(path), "%s/mapped-%u-was", lower.opt.branch, (unsigned)(m - first()));
		if (strchr(m->path, '\n') || fstat(m->copy, &st))
			live_refuse("%s: this mapped file cannot be listed in the branch", m->path);
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
	add(&m);
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

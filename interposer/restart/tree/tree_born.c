#include "restart/tree/tree_born.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/copies/own_attributes.h"
#include "restart/base/open_table.h"
#include "restart/files/reopen.h"
#include "restart/base/tree_fds.h"
#include "restart/base/streams.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "answer/process.h"

/* shared-N */
#define BORN_MAGIC 0x326e6f6265657274ull

struct born {
	uint64_t magic;
	uint32_t kind, flags;
	uint64_t offset;
	int32_t clock;      /* clock of a timer */
	uint32_t of, reads; /* an end that was opened by another's number: its pipe, and whether it reads */
	char path[4096];
};

/* ---- at the cut ---- */

/* A path beside the recording of the first process. */
static void place(char path[4096], const char *format, unsigned number)
{
	int n = snprintf(path, 4096, "%s/../rank-%d/", lower.opt.tree, lower.opt.rank);
	snprintf(path + n, 4096 - (size_t)n, format, number);
}

void tree_born_filled(uint32_t number, const void *bytes, size_t len)
{
	char path[4096];
	place(path, "shared-%u-was", number);
	new_file(path, bytes, len);
}

static void keep_copy(const struct opened *f)
{
	char path[4096];
	place(path, "shared-%u-was", f->shared);
	copy_keep_opened(path, f);
}

/* An empty file for each end of a pipe that does not wait. */
static const char *const modes_names[] = {"%s/shared-%u-reads", "%s/shared-%u-writes"};

static void save_modes(const struct opened *f)
{
	char path[4096];
	if (f->kind != PIPE || f->again || !(fcntl(f->made, F_GETFL) & O_NONBLOCK))
		return;
	place(path, modes_names[!f->read_end] + strlen("%s/"), f->shared);
	int fd = private_create(AT_FDCWD, path, O_WRONLY);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	close(fd);
}

static void set_modes(const char *folder, uint32_t number, const int ends[2])
{
	char path[4096];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), modes_names[i], folder, number);
		if (!access(path, F_OK))
			fcntl(ends[i], F_SETFL, O_NONBLOCK);
	}
}

/* Written by one of the processes that have it. */
static void save_as(const struct opened *f, uint32_t number, uint32_t of)
{
	static struct born one;
	char path[4096];
	const bool file = f->kind == FILE_READ || f->kind == FILE_WRITTEN;
	place(path, "shared-%u", number);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd == -EEXIST)
		return;
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	one = (struct born){.magic = BORN_MAGIC, .kind = f->kind, .flags = f->flags & ~(unsigned)O_NONBLOCK};
	one.flags |= (unsigned)fcntl(f->made, F_GETFL) & O_NONBLOCK;
	one.offset = file ? (uint64_t)lseek(f->made, 0, SEEK_CUR) : 0;
	one.clock = f->clock;
	one.of = of;
	one.reads = f->read_end;
	strcpy(one.path, f->path);
	if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		live_refuse("%s: %s", path, strerror(errno));
	close(fd);
	if (f->kind == FILE_WRITTEN)
		keep_copy(f);
}

static void save_shared(const struct opened *f)
{
	save_modes(f);
	save_as(f, f->shared, 0);
	if (f->kind == PIPE && f->again)
		save_as(f, f->again, f->shared);
}

static const char *named(const struct opened *f)
{
	if (f->kind == PIPE)
		return f->read_end ? "reads" : "writes";
	if (f->kind == EVENT)
		return "counter";
	if (f->kind == SIGNALS)
		return "signals";
	if (f->kind == SOCKET)
		return "socket";
	if (f->kind == TIMER)
		return "timer";
	if (f->kind == EPOLL)
		return "epoll";
	return f->kind == FILE_READ || f->kind == FILE_WRITTEN ? "file" : "other";
}

/* Writes a line for each descriptor: NUMBER CLOEXEC KIND SHARED INDEX BYTES.  Both ends of a pipe that is not shared
 * have one index. */
static void save_numbers(void)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/tree-began", lower.opt.branch);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	for (unsigned n = 0; n < NUMBERS; n++) {
		const struct opened *f = open_table.number[n].file;
		if (f)
			fprintf(file, "%u %d %s %u %u %zu\n", n, open_table.number[n].cloexec, named(f), f->shared,
				f->kind == PIPE ? f->pipe : (unsigned)(f - open_table.opened),
				f->kind == PIPE && !f->shared ? open_table.pipes[f->pipe].len : 0);
	}
	if (fclose(file))
		live_refuse("%s: %s", path, strerror(errno));
}

/* Keeps the plan's list of whose children the processes are. */
static void copy_nodes(void)
{
	char from[4096], path[4096];
	struct opened kept = {0};
	struct stat st;
	snprintf(from, sizeof(from), "%s/nodes", lower.opt.tree);
	snprintf(path, sizeof(path), "%s/tree-nodes", lower.opt.branch);
	kept.copy = private_create(AT_FDCWD, path, O_RDWR | O_EXCL);
	if (kept.copy < 0 || stat(from, &st))
		live_refuse("%s: %s", path, strerror(kept.copy < 0 ? -kept.copy : errno));
	copy_fill(from, &kept, (uint64_t)st.st_size);
	close(kept.copy);
}

void tree_born_save(void)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && f->shared)
			save_shared(f);
	save_numbers();
	if (tree_process() == 0) {
		copy_nodes();
		branch_file_save("tree-pids", pids()->list, pids()->n * sizeof(*pids()->list));
	}
}

/* ---- at the beginning ---- */

static void make_pipe(const char *folder, uint32_t number, const uint8_t *bytes, size_t len)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		live_refuse("a pipe that its processes share cannot be made: %s", strerror(errno));
	ends[0] = tree_fds_ready(ends[0]);
	ends[1] = tree_fds_ready(ends[1]);
	set_modes(folder, number, ends);
	tree_fds_born(number, ends, -1);
	stream_began(number, bytes, len);
}

static void make_event(uint32_t number, unsigned flags, const uint8_t *bytes)
{
	int fd = tree_fds_ready(eventfd(0, (int)flags & (EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)));
	tree_fds_born(number, (int[2]){fd, fd}, -1);
	stream_began(number, bytes, sizeof(uint64_t));
}

static void make_timer(uint32_t number, const struct born *one, const uint8_t *state, size_t len)
{
	int fd = tree_fds_ready(timerfd_create(one->clock, (int)one->flags & TFD_NONBLOCK));
	tree_fds_born(number, (int[2]){fd, fd}, -1);
	stream_began(number, state, len);
}

/* Another description of a pipe that is there already. */
static void make_again(uint32_t number, const struct born *one)
{
	const struct opened f = {.read_end = one->reads};
	const int fd = tree_fds_pipe(&f, tree_fds_of(one->of)[0]);
	fcntl(fd, F_SETFL, (int)(one->flags & O_NONBLOCK));
	tree_fds_born(number, (int[2]){fd, fd}, -1);
}

static void make_file(uint32_t number, const struct born *one, const char *was)
{
	static struct opened f;
	struct stat st;
	memset(&f, 0, sizeof(f));
	f.kind = (enum open_kind)one->kind;
	f.flags = one->flags;
	f.offset = one->offset;
	f.copy = -1;
	strcpy(f.path, one->path);
	if (f.kind == FILE_WRITTEN) {
		if (stat(was, &st))
			live_refuse("%s: %s", was, strerror(errno));
		copy_new(&f);
		copy_fill(was, &f, (uint64_t)st.st_size);
		own_attributes_as(was, f.copy);
	}
	const int fd = reopen(&f);
	if (fd < 0)
		live_refuse("%s: %s", f.path, strerror(-fd));
	const int made = tree_fds_ready(fd);
	if (f.copy >= 0)
		f.copy = tree_fds_ready(f.copy);
	tree_fds_born(number, (int[2]){made, made}, f.copy);
}

static void make(const char *folder, uint32_t number, bool again)
{
	static struct born one;
	char path[4096], was[4096 + 32];
	struct stat st;
	uint8_t *bytes = NULL;
	snprintf(path, sizeof(path), "%s/shared-%u", folder, number);
	snprintf(was, sizeof(was), "%s-was", path);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0 || io_read_all(fd, &one, sizeof(one)) || one.magic != BORN_MAGIC ||
	    !memchr(one.path, 0, sizeof(one.path)))
		live_refuse("%s is damaged", path);
	close(fd);
	if (again != (one.of != 0))
		return;
	if (again) {
		make_again(number, &one);
		return;
	}
	if (one.kind == EPOLL) {
		fd = tree_fds_ready(epoll_create1(0));
		tree_fds_born(number, (int[2]){fd, fd}, -1);
		return;
	}
	if (one.kind == FILE_READ || one.kind == FILE_WRITTEN) {
		make_file(number, &one, was);
		return;
	}
	fd = descriptor_open(AT_FDCWD, was, O_RDONLY, 0);
	if (fd >= 0 && !fstat(fd, &st))
		bytes = malloc((size_t)st.st_size + sizeof(uint64_t));
	if (!bytes || io_read_all(fd, bytes, (size_t)st.st_size))
		live_refuse("%s is damaged", was);
	close(fd);
	if (one.kind == EVENT)
		make_event(number, one.flags, bytes);
	else if (one.kind == TIMER)
		make_timer(number, &one, bytes, (size_t)st.st_size);
	else
		make_pipe(folder, number, bytes, (size_t)st.st_size);
	free(bytes);
}

static void make_all(const char *path, bool again)
{
	struct dirent *entry;
	DIR *folder = opendir(path);
	if (!folder)
		live_refuse("%s: %s", path, strerror(errno));
	while ((entry = readdir(folder))) {
		char *end;
		if (strncmp(entry->d_name, "shared-", 7))
			continue;
		const unsigned long number = strtoul(entry->d_name + 7, &end, 10);
		if (*end || !number)
			continue;
		make(path, (uint32_t)number, again);
		if (pids()->shared < number)
			pids()->shared = (uint32_t)number;
	}
	closedir(folder);
}

void tree_born_make(void)
{
	make_all(lower.opt.restart, false);
	make_all(lower.opt.restart, true);
}

/* ---- children ---- */

void tree_children_save(void)
{
	tree_children_load();
	const uint32_t n = process_children();
	branch_file_save("children-before", &n, sizeof(n));
}

void tree_children_load(void)
{
	static bool loaded;
	uint32_t n = 0;
	if (loaded)
		return;
	loaded = true;
	if (branch_file_load("children-before", &n, sizeof(n), sizeof(n)))
		process_children_from(n);
}

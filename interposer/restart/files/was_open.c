/* The descriptors that a branch began with, on disk: for restarts of that branch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/files/file_locks.h"
#include "restart/sockets/kernel_sockets.h"
#include "restart/base/cut.h"
#include "restart/copies/mapped_files.h"
#include "restart/files/open_files.h"
#include "restart/files/open_files_saved.h"
#include "restart/copies/own_files.h"
#include "restart/copies/own_attributes.h"
#include "restart/sockets/sockets.h"
#include "restart/process/timerfds.h"
#include "restart/base/tree_fds.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/private_file.h"
#include "replay/replay.h"

static void save_part(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		live_refuse("%s/descriptors: %s", lower.opt.branch, strerror(errno));
}

static uint32_t index_of(const struct opened *f)
{
	return (uint32_t)(f - open_table.opened);
}

static void keep_copy(const struct opened *f)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/was-%u", lower.opt.branch, index_of(f));
	copy_keep_opened(path, f);
}

void open_files_save(void)
{
	char path[4096];
	static struct saved head;
	open_table_begin();
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == TIMER && !f->shared)
			timerfd_save(f, live_cut_ns);
	head = (struct saved){.magic = SAVED_MAGIC, .nwatched = open_table.nwatched, .npipes = open_table.npipes};
	head.size = sizeof(struct opened);
	head.mask = umask(0);
	umask(head.mask);
	if (!getcwd(head.cwd, sizeof(head.cwd)))
		live_refuse("its working directory is gone");
	for (unsigned i = 0; i < OPENED; i++)
		head.nopened = open_table.opened[i].kind != NONE ? i + 1 : head.nopened;
	for (unsigned fd = 0; fd < NUMBERS; fd++)
		head.nnumbers += open_table.number[fd].file != NULL;
	snprintf(path, sizeof(path), "%s/descriptors", lower.opt.branch);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	save_part(fd, &head, sizeof(head));
	save_part(fd, open_table.opened, head.nopened * sizeof(struct opened));
	for (unsigned n = 0; n < NUMBERS; n++) {
		struct saved_number one = {.fd = n, .cloexec = open_table.number[n].cloexec};
		if (!open_table.number[n].file)
			continue;
		one.opened = index_of(open_table.number[n].file);
		save_part(fd, &one, sizeof(one));
	}
	for (unsigned i = 0; i < open_table.nwatched; i++) {
		const struct opened *file = open_table.watched[i].file;
		struct saved_watch one = {.set = index_of(open_table.watched[i].set), .fd = open_table.watched[i].fd};
		one.file = file ? index_of(file) : UINT32_MAX;
		one.event = open_table.watched[i].event;
		save_part(fd, &one, sizeof(one));
	}
	for (unsigned i = 0; i < open_table.npipes; i++) {
		uint64_t len = open_table.pipes[i].len;
		save_part(fd, &len, sizeof(len));
		save_part(fd, open_table.pipes[i].bytes, len);
	}
	close(fd);
	for (const struct opened *f = open_table.opened; f < open_table.opened + head.nopened; f++)
		if (f->kind == FILE_WRITTEN && !f->shared) /* shared files: tree_born.c */
			keep_copy(f);
}

static void load_part(int fd, void *bytes, size_t len)
{
	if (io_read_all(fd, bytes, len))
		live_refuse("%s/descriptors is damaged", lower.opt.restart);
}

static int from; /* descriptor of a checkpoint's own list; 0: none */

void open_files_from(int fd)
{
	from = fd;
	open_table_begin();
}

static bool was_there(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.restart, name);
	return access(path, F_OK) == 0;
}

/* The file has been opened before, and goes on with the same copy. */
static bool is_twin(struct opened *f)
{
	for (const struct opened *o = open_table.opened; o < f; o++)
		if (o->kind == FILE_WRITTEN && *f->path && !strcmp(o->path, f->path)) {
			f->copy = lower_fd(dup(o->copy));
			if (f->copy < 0)
				live_refuse("%s: its copy cannot be opened again: %s", f->path, strerror(-f->copy));
			return true;
		}
	return false;
}

static void load_head(int fd, struct saved *head, const char *path)
{
	load_part(fd, head, sizeof(*head));
	if (head->magic != SAVED_MAGIC || head->size != sizeof(struct opened) || head->nopened > OPENED ||
	    head->nnumbers > NUMBERS || head->nwatched > WATCHED || head->npipes > OPENED ||
	    !memchr(head->cwd, 0, sizeof(head->cwd)))
		live_refuse("%s is damaged, or written by another version of rdb", path);
	if (chdir(head->cwd))
		live_refuse("%s: %s", head->cwd, strerror(errno));
	umask(head->mask);
}

/* What refers to the opened files: descriptors, epoll sets, locks. */
static void load_references(int fd, const struct saved *head, const char *path)
{
	for (unsigned i = 0; i < head->nnumbers; i++) {
		struct saved_number one;
		load_part(fd, &one, sizeof(one));
		if (one.fd >= NUMBERS || one.opened >= head->nopened)
			live_refuse("%s is damaged", path);
		open_table.number[one.fd].file = &open_table.opened[one.opened];
		open_table.number[one.fd].cloexec = one.cloexec;
	}
	open_table.nwatched = head->nwatched;
	for (unsigned i = 0; i < head->nwatched; i++) {
		struct saved_watch one;
		load_part(fd, &one, sizeof(one));
		if (one.set >= head->nopened || (one.file != UINT32_MAX && one.file >= head->nopened))
			live_refuse("%s is damaged", path);
		open_table.watched[i].set = &open_table.opened[one.set];
		open_table.watched[i].file = one.file == UINT32_MAX ? open_at((uint64_t)one.fd)
								    : &open_table.opened[one.file];
		open_table.watched[i].fd = one.fd;
		open_table.watched[i].event = one.event;
	}
	for (unsigned i = 0; i < head->nlocks; i++) {
		struct saved_lock one;
		load_part(fd, &one, sizeof(one));
		file_locks_from(&one, 1);
	}
}

static void load_pipes(int fd, const struct saved *head, const char *path)
{
	open_table.npipes = head->npipes;
	for (unsigned i = 0; i < head->npipes; i++) {
		uint64_t len;
		load_part(fd, &len, sizeof(len));
		open_table.pipes[i].bytes = len <= PIPE_ROOM ? malloc(len ? len : 1) : NULL;
		if (!open_table.pipes[i].bytes)
			live_refuse("%s is damaged", path);
		open_table.pipes[i].len = len;
		load_part(fd, open_table.pipes[i].bytes, len);
	}
}

/* Gives a file that is written to its copy. */
static void load_written(struct opened *f, unsigned i)
{
	char path[4096];
	struct stat st;
	if (from && is_twin(f))
		return;
	if (from)
		snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.restart, lower.opt.checkpoint, i);
	else
		snprintf(path, sizeof(path), "%s/was-%u", lower.opt.restart, i);
	if (stat(path, &st))
		live_refuse("%s: %s", path, strerror(errno));
	if (from && (uint64_t)st.st_size != f->count)
		live_refuse("%s: its size has changed since the checkpoint", path);
	copy_new(f);
	copy_fill(path, f, (uint64_t)st.st_size);
	own_attributes_as(path, f->copy);
}

static void load_opened(struct opened *f, unsigned i, bool had_sockets)
{
	f->made = 0;
	f->since_ns = f->kind == TIMER ? replay_begun_ns() : f->since_ns;
	if (f->kind != NONE && f->shared && !from) {
		tree_fds_found(f);
		return;
	}
	if ((f->kind == LIBRARY && !was_there("verbs-objects")) || (f->kind == SOCKET && !had_sockets))
		live_refuse("it is a branch that an older rdb made: restart the job from which the branch was made");
	if (f->kind == SOCKET && !from) {
		f->flags = socket_of(f)->flags;
		f->set = false;
	}
	if (f->kind == FILE_WRITTEN)
		load_written(f, i);
}

bool open_files_load(void)
{
	char path[4096];
	static struct saved head;
	snprintf(path, sizeof(path), "%s/descriptors", lower.opt.restart);
	int fd = from ? from : descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	load_head(fd, &head, path);
	load_part(fd, open_table.opened, head.nopened * sizeof(struct opened));
	load_references(fd, &head, path);
	load_pipes(fd, &head, path);
	if (from)
		kernel_sockets_load(fd);
	else
		own_load();
	close(fd);
	const bool had_sockets = from || sockets_load();
	for (unsigned i = 0; i < head.nopened; i++)
		load_opened(&open_table.opened[i], i, had_sockets);
	if (!from) {
		mapped_files_load();
		file_locks_load();
	}
	return true;
}

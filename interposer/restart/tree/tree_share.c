#include "restart/tree/tree_share.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/base/tree_fds.h"
#include "restart/process/timerfds.h"
#include "restart/base/open_table.h"
#include "restart/copies/own_files.h"
#include "restart/files/reopen.h"
#include "restart/tree/tree_born.h"
#include "restart/tree/tree_moves.h"
#include "restart/base/streams.h"
#include "base/descriptors.h"
#include "base/private_file.h"

static void share_pipe(struct opened *f)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		live_refuse("a pipe that its processes share cannot be made: %s", strerror(errno));
	pipe_fill(ends[0], NULL, 0, f->count);
	const unsigned number = stream_new(), pipe = f->pipe;
	ends[0] = tree_fds_ready(ends[0]);
	ends[1] = tree_fds_ready(ends[1]);
	if (open_table.pipes[pipe].len)
		stream_began(number, open_table.pipes[pipe].bytes, open_table.pipes[pipe].len);
	for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
		if (o->kind == PIPE && o->pipe == pipe) {
			o->shared = number;
			o->made = o->again ? tree_fds_pipe(o, ends[0]) : ends[!o->read_end];
			o->set = false;
			fcntl(o->made, F_SETFL, (int)(o->flags & O_NONBLOCK));
		}
}

static void share_event(struct opened *f)
{
	f->made = tree_fds_ready(eventfd(0, (int)f->flags & (EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)));
	f->shared = stream_new();
	stream_began(f->shared, &f->count, sizeof(f->count));
}

void tree_share(void)
{
	open_table_begin();
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (f->shared)
			continue;
		switch (f->kind) {
		case PIPE: share_pipe(f); break;
		case EVENT: share_event(f); break;
		case FILE_READ:
		case FILE_WRITTEN:
		case TIMER:
		case EPOLL: {
			const int fd = f->kind == TIMER   ? timerfd_create(f->clock, (int)f->flags & TFD_NONBLOCK)
				       : f->kind == EPOLL ? epoll_create1(0)
							  : reopen(f);
			if (fd < 0)
				live_refuse("%s: %s", *f->path ? f->path : "a timer or an epoll", strerror(errno));
			f->made = tree_fds_ready(fd);
			f->shared = stream_new();
			if (f->kind == FILE_WRITTEN && own_twice(f))
				own_several(f);
			if (f->kind == TIMER)
				timerfd_told(f);
			break;
		}
		case SOCKET: f->set = false; break;
		default: break;
		}
	}
}

void tree_share_in_child(void)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		f->set = false;
		if (f->kind == LIBRARY) {
			f->call = SYS_openat;
			f->kind = OTHER; /* refused if the child still has it at the cut */
		}
	}
	open_table.nwatched = 0; /* the parent adds them to the same epoll */
}

/* ---- at the cut ---- */

/* Flags that one process has set hold for all; if several have set different flags, it is not known which were last. */
static void modes_path(char *path, size_t size, const struct opened *f, unsigned modes)
{
	const unsigned which = f->again ? f->again : f->kind == PIPE && f->read_end;
	snprintf(path, size, "%s/modes-%u-%u-%x", lower.opt.tree, f->shared, which, modes);
}

static void tell_modes(const struct opened *f)
{
	char path[4096];
	modes_path(path, sizeof(path), f, f->flags & TREE_MODES);
	int fd = private_create(AT_FDCWD, path, O_WRONLY);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	close(fd);
}

static void compare_modes(const struct opened *f)
{
	static const unsigned each[] = {O_NONBLOCK, O_APPEND, O_DIRECT};
	char path[4096];
	for (unsigned i = 0; i < 8; i++) {
		const unsigned modes = (i & 1 ? each[0] : 0) | (i & 2 ? each[1] : 0) | (i & 4 ? each[2] : 0);
		modes_path(path, sizeof(path), f, modes);
		if (modes != (f->flags & TREE_MODES) && access(path, F_OK) == 0)
			live_refuse("several of its processes have set different flags of one descriptor with "
				    "fcntl(2), and which came last is not known");
	}
}

void tree_share_modes(void)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && f->shared && f->set)
			tell_modes(f);
}

static void fill_pipe(const struct all_ops *all, const struct opened *f)
{
	uint8_t *written, *from;
	const size_t left = stream_left(all, &written, &from);
	pipe_fill(f->made, from, left, 0);
	tree_born_filled(f->shared, from, left);
	free(written);
}

static void fill_event(const struct all_ops *all, const struct opened *f)
{
	uint64_t value, count = 0;
	for (size_t i = 0; i < all->n; i++) {
		memcpy(&value, all->ops[i] + 1, sizeof(value));
		count += all->ops[i]->kind == OP_READ ? -value : value;
	}
	if (count && write(f->made, &count, sizeof(count)) != (ssize_t)sizeof(count))
		live_refuse("an eventfd of its processes cannot be set to its value");
	tree_born_filled(f->shared, &count, sizeof(count));
}

/* True: this process fills it; the first that comes does. */
static bool claimed(uint32_t number)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/filled-%u", lower.opt.tree, number);
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd < 0 && fd != -EEXIST)
		live_refuse("%s: %s", path, strerror(-fd));
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void tree_share_fill(void)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		struct all_ops all;
		if (f->kind == NONE || f->kind == OTHER || f->kind == EPOLL || !f->shared || !claimed(f->shared))
			continue;
		stream_gather(&all, f->shared);
		switch (f->kind) {
		case PIPE: fill_pipe(&all, f); break;
		case EVENT: fill_event(&all, f); break;
		case TIMER: tree_timer_fill(&all, f); break;
		case FILE_READ:
		case FILE_WRITTEN: tree_file_fill(&all, f); break;
		default: break;
		}
		stream_free(&all);
	}
}

static bool in_table(int fd)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && (f->made == fd || (f->kind == FILE_WRITTEN && f->copy == fd)))
			return true;
	return false;
}

void tree_share_close(void)
{
	for (unsigned i = 0; i < tree_fds.n; i++)
		if (!in_table(tree_fds.fd[i]))
			lower_fd_close(tree_fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == NONE || !f->shared || f->made <= 0)
			continue;
		else if (f->set)
			compare_modes(f);
		else if (f->kind == PIPE && f->flags & O_DIRECT)
			fcntl(f->made, F_SETFL, fcntl(f->made, F_GETFL) | O_DIRECT);
}

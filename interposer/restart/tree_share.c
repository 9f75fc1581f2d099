#include "restart/tree_share.h"
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
#include "restart/live.h"
#include "restart/open_files.h"
#include "restart/open_table.h"
#include "restart/own_files.h"
#include "restart/reopen.h"
#include "restart/tree.h"
#include "restart/tree_born.h"
#include "restart/tree_moves.h"
#include "restart/tree_streams.h"
#include "base/descriptors.h"
#include "base/private_file.h"

enum { MODES = O_NONBLOCK | O_APPEND | O_DIRECT };

static struct tree_fds fds; /* of this process */

/* ---- on the way ---- */

void tree_moved(struct opened *f, const void *bytes, uint64_t done, bool writing)
{
	stream_add(f->shared, writing ? OP_WRITE : OP_READ, bytes, done);
}

void tree_share_did(uint32_t number, const void *bytes, size_t len)
{
	stream_began(number, bytes, len);
}

void tree_stream_moved(uint32_t number, const void *bytes, uint64_t len, bool writing)
{
	stream_add(number, writing ? OP_WRITE : OP_READ, bytes, len);
}

size_t tree_stream_left(uint32_t number, uint8_t **whole, uint8_t **left)
{
	struct all_ops all;
	stream_gather(&all, number);
	const size_t len = stream_left(&all, whole, left);
	stream_free(&all);
	return len;
}

void tree_flagged(struct opened *f)
{
	if (f->shared && f->made > 0)
		fcntl(f->made, F_SETFL, (int)(f->flags & MODES));
}

int tree_share_ready(int fd)
{
	fd = fd < 0 ? -errno : lower_fd(fd);
	if (fd < 0 || fds.n == TREE_FDS)
		live_refuse("what its processes share cannot be made: %s", fd < 0 ? strerror(-fd) : "too much");
	fds.fd[fds.n++] = fd;
	return fd;
}

void tree_share_born(uint32_t number, const int fd[2], int copy)
{
	if (fds.nborn == TREE_BORN)
		live_refuse("its processes shared more than %d open files", TREE_BORN);
	fds.born[fds.nborn].number = number;
	memcpy(fds.born[fds.nborn].fd, fd, 2 * sizeof(*fd));
	fds.born[fds.nborn++].fd[2] = copy;
}

const struct tree_fds *tree_share_all(void)
{
	return &fds;
}

int tree_pipe_again(const struct opened *f, int pipe)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pipe);
	return tree_share_ready(open(link, (f->read_end ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_CLOEXEC));
}

static void share_pipe(struct opened *f)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		live_refuse("a pipe: %s", strerror(errno));
	const unsigned number = tree_shared_number(), pipe = f->pipe;
	ends[0] = tree_share_ready(ends[0]);
	ends[1] = tree_share_ready(ends[1]);
	if (open_table.pipes[pipe].len)
		stream_began(number, open_table.pipes[pipe].bytes, open_table.pipes[pipe].len);
	for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
		if (o->kind == PIPE && o->pipe == pipe) {
			o->shared = number;
			o->made = o->again ? tree_pipe_again(o, ends[0]) : ends[!o->read_end];
			o->set = false;
			fcntl(o->made, F_SETFL, (int)(o->flags & O_NONBLOCK));
		}
}

static void share_event(struct opened *f)
{
	f->made = tree_share_ready(eventfd(0, (int)f->flags & (EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)));
	f->shared = tree_shared_number();
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
			f->made = tree_share_ready(fd);
			f->shared = tree_shared_number();
			if (f->kind == FILE_WRITTEN && own_twice(f))
				own_several(f);
			if (f->kind == TIMER)
				tree_timer_set(f);
			break;
		}
		case SOCKET: f->set = false; break;
		default: break;
		}
	}
}

void tree_share_fds(struct tree_fds *out)
{
	*out = fds;
}

void tree_share_inherit(const struct tree_fds *in)
{
	fds = *in;
}

void tree_share_in_child(void)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		f->set = false;
		if (f->kind == LIBRARY) {
			f->call = SYS_openat;
			f->kind = OTHER; /* refused, if it still has it at the cut */
		}
	}
	open_table.nwatched = 0; /* its parent adds them to the same epoll */
}

static void stays(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

void tree_share_keep(void)
{
	for (unsigned i = 0; i < fds.n; i++)
		stays(fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN)
			stays(f->copy);
}

/* ---- at the cut ---- */

/* Flags that one process has set are everybody's; of several that have set others nobody knows who was last. */
static void modes_path(char *path, size_t size, const struct opened *f, unsigned modes)
{
	const unsigned which = f->again ? f->again : f->kind == PIPE && f->read_end;
	snprintf(path, size, "%s/modes-%u-%u-%x", lower.opt.tree, f->shared, which, modes);
}

static void tell_modes(const struct opened *f)
{
	char path[4096];
	modes_path(path, sizeof(path), f, f->flags & MODES);
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
		if (modes != (f->flags & MODES) && access(path, F_OK) == 0)
			live_refuse("several of its processes have set the flags of one descriptor, with fcntl(2)");
	}
}

void tree_share_modes(void)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && f->shared && f->set)
			tell_modes(f);
}

/* By whichever end: a pipe has both behind either. */
static void fill_pipe(const struct all_ops *all, const struct opened *f)
{
	uint8_t *written, *from;
	char link[64];
	const size_t left = stream_left(all, &written, &from);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->made);
	const int fd = left ? open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
	if (left && fd < 0)
		live_refuse("a pipe of its processes: %s", strerror(errno));
	if (left > (size_t)fcntl(fd, F_GETPIPE_SZ) && left && fcntl(fd, F_SETPIPE_SZ, (int)left) < 0)
		live_refuse("%zu bytes are in a pipe of its processes: %s", left, strerror(errno));
	if (left && write(fd, from, left) != (ssize_t)left)
		live_refuse("a pipe of its processes does not take what was in it");
	if (fd >= 0)
		close(fd);
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
		live_refuse("an eventfd of its processes does not take what was in it");
	tree_born_filled(f->shared, &count, sizeof(count));
}

/* One process makes it as it was: the first that comes. */
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
	for (unsigned i = 0; i < fds.n; i++)
		if (!in_table(fds.fd[i]))
			lower_fd_close(fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == NONE || !f->shared || f->made <= 0)
			continue;
		else if (f->set)
			compare_modes(f);
		else if (f->kind == PIPE && f->flags & O_DIRECT)
			fcntl(f->made, F_SETFL, fcntl(f->made, F_GETFL) | O_DIRECT);
}

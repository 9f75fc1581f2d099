#include "restart/base/tree_fds.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "restart/base/cut.h"

struct tree_fds tree_fds;

int tree_fds_ready(int fd)
{
	fd = fd < 0 ? -errno : lower_fd(fd);
	if (fd < 0 || tree_fds.n == TREE_FDS)
		live_refuse("the pipes, sockets and files that its processes share cannot be made: %s",
			    fd < 0 ? strerror(-fd) : "too many");
	tree_fds.fd[tree_fds.n++] = fd;
	return fd;
}

int tree_fds_pipe(const struct opened *f, int pipe)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", pipe);
	return tree_fds_ready(open(link, (f->read_end ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_CLOEXEC));
}

static void stays(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

void tree_fds_keep(void)
{
	for (unsigned i = 0; i < tree_fds.n; i++)
		stays(tree_fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN)
			stays(f->copy);
}

void tree_fds_born(uint32_t number, const int fd[2], int copy)
{
	if (tree_fds.nborn == TREE_BORN)
		live_refuse("its processes shared more than %d open files", TREE_BORN);
	tree_fds.born[tree_fds.nborn].number = number;
	memcpy(tree_fds.born[tree_fds.nborn].fd, fd, 2 * sizeof(*fd));
	tree_fds.born[tree_fds.nborn++].fd[2] = copy;
}

const int32_t *tree_fds_of(uint32_t number)
{
	for (unsigned i = 0; i < tree_fds.nborn; i++)
		if (tree_fds.born[i].number == number)
			return tree_fds.born[i].fd;
	live_refuse("a pipe, socket or file that its processes shared is missing");
}

void tree_fds_found(struct opened *f)
{
	const uint32_t number = f->kind == PIPE && f->again ? f->again : f->shared;
	const int32_t *fd = tree_fds_of(number);
	f->made = fd[f->kind == PIPE && !f->read_end];
	f->copy = fd[2];
	f->set = false;
}

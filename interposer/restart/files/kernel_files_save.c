/* Keeps open files in a checkpoint: what is in those that are written to, and in pipes (tee(2)). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/apart.h"
#include "base/copy_bytes.h"
#include "base/descriptors.h"
#include "base/lower.h"
#include "base/private_file.h"
#include "restart/copies/own_attributes.h"
#include "restart/files/kernel_files.h"
#include "restart/files/kernel_look.h"
#include "restart/sockets/kernel_sockets.h"
#include "space/side_files.h"

/* The same file, opened before for writing, too: what is in it is kept once. */
static bool is_twin(const struct opened *f)
{
	for (const struct opened *o = kernel_look.opened; o < f; o++)
		if (o->kind == FILE_WRITTEN && *f->path && !strcmp(o->path, f->path))
			return true;
	return false;
}

static bool is_kept(const struct opened *f)
{
	return f->kind == MEMORY || (f->kind == FILE_WRITTEN && !is_twin(f));
}

const struct stat *kernel_files_nameless(unsigned *i)
{
	while (*i < kernel_look.nopened) {
		const struct opened *f = &kernel_look.opened[(*i)++];
		if (f->kind == MEMORY || (f->kind == FILE_WRITTEN && !*f->path))
			return &kernel_look.file[f - kernel_look.opened];
	}
	return NULL;
}

struct copying {
	int fd;
	bool closed; /* it could not be opened again */
	uint64_t bytes;
	const char *to;
};

static long copied(void *p)
{
	struct copying *c = p;
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", c->fd);
	const int from = descriptor_open(AT_FDCWD, link, O_RDONLY, 0);
	c->closed = from < 0;
	if (from < 0)
		return from;
	const int to = private_create(AT_FDCWD, c->to, O_RDWR | O_TRUNC);
	int64_t rc = to < 0 ? to : copy_bytes(from, to, c->bytes);
	if (rc >= 0)
		rc = (uint64_t)rc < c->bytes ? -EIO : 0;
	if (!rc)
		own_attributes_keep(link, to);
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

static const char *save_written(const struct opened *f, unsigned number)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.dir, number,
			     (unsigned)(f - kernel_look.opened)) >= sizeof(path))
		return "too long a path";
	struct copying c = {.fd = kernel_look.fd[f - kernel_look.opened], .bytes = f->count, .to = path};
	const long rc = apart(copied, &c);
	if (c.closed)
		return kernel_files_cannot("its descriptor %d: the file cannot be opened again: %s: %s", c.fd, f->path,
					   strerror((int)-rc));
	if (!rc)
		side_file_whole(path);
	return rc ? kernel_files_cannot("its descriptor %d cannot be copied: %s",
					kernel_look.fd[f - kernel_look.opened], strerror((int)-rc))
		  : NULL;
}

/* The content of a pipe stays there: tee(2) copies it into a pipe of ours. */
static const char *save_pipe(struct table *out, int fd)
{
	static uint8_t bytes[PIPE_ROOM];
	int ends[2];
	uint64_t len = 0;
	if (fd < 0)
		return table_add(out, &len, sizeof(len)) ? "out of memory" : NULL;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return "no pipe can be made, which rdb needs to copy what is in another one";
	int there = 0;
	/* Over fs.pipe-user-pages-soft ours gets fewer pages (pipe(7)), and then not all of it. */
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_ROOM);
	ssize_t n = tee(fd, ends[1], PIPE_ROOM, SPLICE_F_NONBLOCK);
	while (n > 0 && (n = read(ends[0], bytes + len, sizeof(bytes) - len)) > 0)
		len += (uint64_t)n;
	close(ends[0]);
	close(ends[1]);
	if (ioctl(fd, FIONREAD, &there) || (uint64_t)there != len)
		return kernel_files_cannot("what is in its descriptor %d cannot be copied: %s", fd,
					   "rdb cannot make a pipe of that size");
	return table_add(out, &len, sizeof(len)) || table_add(out, bytes, len) ? "out of memory" : NULL;
}

int kernel_files_list(const char *path)
{
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int rc = fd < 0 ? fd : 0;
	for (const struct opened *f = kernel_look.opened; !rc && f < kernel_look.opened + kernel_look.nopened; f++)
		if (f->kind == FILE_WRITTEN && is_kept(f) && *f->path && !strchr(f->path, '\n') &&
		    dprintf(fd, "%u %lu %o %s\n", (unsigned)(f - kernel_look.opened), (unsigned long)f->count,
			    (unsigned)kernel_look.file[f - kernel_look.opened].st_mode & 07777, f->path) < 0)
			rc = -errno;
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc;
}

const char *kernel_files_save(struct table *out, unsigned number)
{
	static struct saved head;
	const char *why = NULL;
	int rc;
	head = (struct saved){.magic = SAVED_MAGIC,
			      .nopened = kernel_look.nopened,
			      .nnumbers = kernel_look.nnumbers,
			      .nwatched = kernel_look.nwatched,
			      .npipes = kernel_look.npipes,
			      .nlocks = kernel_look.nlocks,
			      .size = sizeof(struct opened)};
	head.mask = (uint32_t)raw_syscall(SYS_umask, 0, 0, 0, 0, 0, 0);
	raw_syscall(SYS_umask, (long)head.mask, 0, 0, 0, 0, 0);
	if (raw_syscall(SYS_getcwd, (long)head.cwd, sizeof(head.cwd), 0, 0, 0, 0) < 0)
		return "its working directory is gone";
	for (unsigned i = 0; i < kernel_look.nopened && !why; i++)
		if (is_kept(&kernel_look.opened[i]))
			why = save_written(&kernel_look.opened[i], number);
	if (why)
		return why;
	rc = table_add(out, &head, sizeof(head));
	if (!rc)
		rc = table_add(out, kernel_look.opened, kernel_look.nopened * sizeof(struct opened));
	if (!rc)
		rc = table_add(out, kernel_look.number, kernel_look.nnumbers * sizeof(struct saved_number));
	if (!rc)
		rc = table_add(out, kernel_look.watched, kernel_look.nwatched * sizeof(struct saved_watch));
	if (!rc)
		rc = table_add(out, kernel_look.locks, kernel_look.nlocks * sizeof(struct saved_lock));
	for (unsigned i = 0; i < kernel_look.npipes && !rc && !why; i++)
		why = save_pipe(out, kernel_look.pipe_fd[i]);
	return rc ? "out of memory" : why ? why : kernel_sockets_save(out);
}

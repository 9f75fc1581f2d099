#include "restart/base/open_table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "restart/base/cut.h"

struct open_table open_table;
const struct open_owners *open_owners;

void open_table_begin(void)
{
	if (open_table.begun)
		return;
	open_table.begun = true;
	if (open_owners->begin())
		return;
	for (int fd = 0; fd < 3; fd++) {
		open_table.opened[fd] = (struct opened){.kind = STANDARD, .refs = 1, .copy = fd};
		open_table.number[fd].file = &open_table.opened[fd];
	}
}

struct opened *open_at(uint64_t fd)
{
	return fd < NUMBERS ? open_table.number[fd].file : NULL;
}

void open_drop(uint64_t fd)
{
	struct opened *f = open_at(fd);
	if (!f)
		return;
	open_table.number[fd].file = NULL;
	bool closed = --f->refs == 0;
	open_owners->closed(f, closed);
	unsigned kept = 0;
	for (unsigned i = 0; closed && f->shared && i < open_table.nwatched; i++) {
		struct opened *set = open_table.watched[i].set;
		if (set != f && open_table.watched[i].file == f)
			snprintf(set->why, sizeof(set->why),
				 "it watches a descriptor that another process may still have open");
	}
	for (unsigned i = 0; i < open_table.nwatched; i++)
		if (!closed || (open_table.watched[i].set != f && open_table.watched[i].file != f))
			open_table.watched[kept++] = open_table.watched[i];
	open_table.nwatched = kept;
	if (closed)
		f->kind = NONE;
}

void open_put(int64_t fd, struct opened *f, bool cloexec)
{
	if (fd < 0 || fd >= NUMBERS)
		live_refuse("it has opened descriptor %ld, and a restart supports those below %d", (long)fd, NUMBERS);
	f->refs++;
	open_drop((uint64_t)fd);
	open_table.number[fd].file = f;
	open_table.number[fd].cloexec = cloexec;
}

struct opened *open_make(enum open_kind kind, unsigned flags)
{
	struct opened *f = open_table.opened;
	while (f < open_table.opened + OPENED && f->kind != NONE)
		f++;
	if (f == open_table.opened + OPENED)
		live_refuse("it has more than %d files open", OPENED);
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->flags = flags & ~(unsigned)O_CLOEXEC;
	return f;
}

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

bool signalfd_got(const struct event *ev, unsigned i, struct signalfd_siginfo *one)
{
	const struct opened *f = open_at(ev->args[0]);
	const struct iovec all = {(void *)ev->args[1], ev->args[2]}, *in = &all;
	uint64_t left = 1;
	size_t skip = i * sizeof(*one), have = 0;
	if ((ev->nr != SYS_read && ev->nr != SYS_readv) || !f || f->kind != SIGNALS)
		return false;
	if ((i + 1) * (int64_t)sizeof(*one) > ev->result)
		return false;
	if (ev->nr == SYS_readv) {
		in = (const void *)ev->args[1];
		left = ev->args[2];
	}
	for (; left && have < sizeof(*one); in++, left--) {
		const size_t there = in->iov_len > skip ? in->iov_len - skip : 0, wanted = sizeof(*one) - have;
		const size_t n = there < wanted ? there : wanted;
		memcpy((char *)one + have, (const char *)in->iov_base + skip, n);
		skip = there ? 0 : skip - in->iov_len;
		have += n;
	}
	return have == sizeof(*one);
}

void pipe_fill(int end, const void *bytes, size_t len, size_t size)
{
	char link[64];
	if (!len && !size)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", end);
	const int fd = open(link, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		live_refuse("one of its pipes cannot be filled again: %s", strerror(errno));
	if ((size || len > (size_t)fcntl(fd, F_GETPIPE_SZ)) &&
	    fcntl(fd, F_SETPIPE_SZ, (int)(len > size ? len : size)) < 0)
		live_refuse("one of its pipes cannot have a size of %zu bytes: %s", len > size ? len : size,
			    strerror(errno));
	if (len && write(fd, bytes, len) != (ssize_t)len)
		live_refuse("one of its pipes cannot take the bytes that it held");
	close(fd);
}

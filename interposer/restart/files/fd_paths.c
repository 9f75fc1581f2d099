#include "restart/files/fd_paths.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "restart/base/cut.h"
#include "restart/base/streams.h"
#include "restart/base/tree_fds.h"
#include "replay/replay.h"

int fd_path(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	for (int i = 0; i < 3; i++) {
		const size_t len = strlen(folders[i]);
		char *end;
		if (!strcmp(path, names[i]))
			return i;
		if (strncmp(path, folders[i], len) || path[len] < '0' || path[len] > '9')
			continue;
		const long number = strtol(path + len, &end, 10);
		return *end || number >= NUMBERS ? -1 : (int)number;
	}
	return -1;
}

/* Another description of the pipe, with flags of its own. */
static bool pipe_again(const struct event *ev, const struct opened *of, unsigned flags)
{
	size_t len;
	if ((flags & O_ACCMODE) == O_RDWR || !log_note(replay_record(), RDB_NOTE_PIPE, &len))
		return false;
	struct opened *f = open_make(PIPE, flags & ~(unsigned)(O_CREAT | O_TRUNC | O_EXCL));
	f->read_end = (flags & O_ACCMODE) == O_RDONLY;
	f->pipe = of->pipe;
	f->again = tree() ? stream_new() : 1;
	if (of->shared) {
		f->shared = of->shared;
		f->made = tree_fds_pipe(f, of->made);
		fcntl(f->made, F_SETFL, (int)(f->flags & O_NONBLOCK));
	}
	open_put(ev->result, f, flags & O_CLOEXEC);
	return true;
}

bool fd_path_opened(const struct event *ev, int number, unsigned flags, const char **path)
{
	const struct opened *of = number < 0 ? NULL : open_at((uint64_t)number);
	if (!of)
		return false;
	switch (of->kind) {
	case PIPE: return pipe_again(ev, of, flags);
	case STANDARD: {
		struct opened *f = open_make(STANDARD, flags);
		f->copy = of->copy;
		f->again = 1;
		open_put(ev->result, f, flags & O_CLOEXEC);
		return true;
	}
	case FILE_READ:
	case FILE_WRITTEN:
		if (*of->path)
			*path = of->path;
		return false;
	default: return false;
	}
}

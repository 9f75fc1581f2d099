#include "restart/open_table.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "restart/file_locks.h"
#include "restart/live.h"
#include "restart/own_files.h"
#include "restart/sockets.h"
#include "restart/tree.h"
#include "base/descriptors.h"

struct open_table open_table;

void open_table_begin(void)
{
	if (open_table.begun)
		return;
	open_table.begun = true;
	if (tree() && tree_inherited())
		return;
	if (open_table_load())
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
	file_locks_closed(f, closed);
	unsigned kept = 0;
	for (unsigned i = 0; closed && f->shared && i < open_table.nwatched; i++) {
		struct opened *set = open_table.watched[i].set;
		if (set != f && open_table.watched[i].fd == (int)fd)
			snprintf(set->why, sizeof(set->why), "it watches what another process may have open still");
	}
	for (unsigned i = 0; i < open_table.nwatched; i++)
		if (!closed || (open_table.watched[i].set != f && open_at((uint64_t)open_table.watched[i].fd)))
			open_table.watched[kept++] = open_table.watched[i];
	open_table.nwatched = kept;
	if (closed && f->kind == FILE_WRITTEN) {
		own_closed(f);
		lower_fd_close(f->copy);
	}
	if (closed && f->kind == SOCKET)
		socket_closed(f);
	if (closed)
		f->kind = NONE;
}

void open_put(int64_t fd, struct opened *f, bool cloexec)
{
	if (fd < 0 || fd >= NUMBERS)
		live_refuse("it has opened descriptor %ld", (long)fd);
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

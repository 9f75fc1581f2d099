#include "restart/tree_sockets.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "restart/live.h"
#include "restart/tree.h"
#include "restart/tree_ends.h"
#include "restart/tree_share.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/private_file.h"
#include "replay/replay.h"

enum { NUMBERED = 1u << 31 };

void tree_socket_named(struct sock *s)
{
	snprintf(s->key, sizeof(s->key), "of-%s-at-%lu", lower.opt.process, (unsigned long)replay_record()->event);
}

/* FNV-1a: of what leaves that end.  Streams of pipes have small numbers. */
uint32_t tree_stream_from(const struct sock *s, bool second)
{
	uint32_t hash = 2166136261u;
	for (const char *c = s->key; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return NUMBERED | ((hash ^ second) * 16777619u);
}

void tree_socket_moved(const struct sock *s, const void *bytes, uint64_t len, bool writing)
{
	if (s->type == SOCK_STREAM || s->state == SOCKET_PAIRED)
		tree_stream_moved(tree_stream_from(s, writing == s->second), bytes, len, writing);
}

void tree_sockets_loaded(void)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct sock *first = s->other && s->other < s ? s->other : s;
		if (!s->used)
			continue;
		if (!*s->key) /* of a branch that had no other process then */
			snprintf(s->key, sizeof(s->key), "<pair-%d", (int)(first - sockets));
		if (s->tail_len)
			tree_share_did(tree_stream_from(s, s->second), s->tail, s->tail_len);
	}
}

/* ---- from one program to another ---- */

bool tree_sockets_hand_on(int fd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < SOCKETS; i++)
		n = sockets[i].used ? i + 1 : n;
	const size_t len = n * sizeof(*sockets);
	return write(fd, &n, sizeof(n)) == sizeof(n) && write(fd, sockets, len) == (ssize_t)len;
}

bool tree_sockets_inherit(int fd)
{
	uint32_t n;
	if (read(fd, &n, sizeof(n)) != sizeof(n) || n > SOCKETS ||
	    read(fd, sockets, n * sizeof(*sockets)) != (ssize_t)(n * sizeof(*sockets)))
		return false;
	for (struct sock *s = sockets; s < sockets + n; s++) {
		s->other = NULL;
		s->tail = NULL;
		s->tail_len = s->tail_room = 0;
	}
	return true;
}

/* ---- at the cut ---- */

static struct opened *opened_of(const struct sock *s)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (socket_of(f) == s)
			return f;
	return NULL;
}

unsigned tree_process(void)
{
	return (unsigned)atoi(lower.opt.process);
}

int tree_socket_keep(int fd)
{
	const int kept = fd < 0 ? -errno : lower_fd(fd);
	if (kept < 0)
		live_refuse("a socket of its processes cannot be made: %s", strerror(-kept));
	return kept;
}

static void put(const void *bytes, size_t len)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/sockets-%u", lower.opt.tree, tree_process());
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, bytes, len, 0, 1 << 20);
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
}

void tree_sockets_tell(bool ended)
{
	static struct told list[SOCKETS];
	unsigned n = 0;
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		const struct opened *f = ended ? NULL : opened_of(s);
		if (!s->used)
			continue;
		list[n] = (struct told){.sock = *s, .process = tree_process(), .held = f && !s->closed};
		list[n].set = f && f->set;
		list[n++].flags = f ? f->flags & O_NONBLOCK : 0;
	}
	if (tree_process() == 0)
		tree_door_open();
	if (n)
		put(list, n * sizeof(*list));
}

static void take_own(const struct tree_ends *all, const struct sock *s, struct opened *f)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->list[i].own == s)
			f->made = tree_socket_keep(fcntl(all->list[i].fd, F_DUPFD_CLOEXEC, 0));
}

void tree_sockets_make(void)
{
	struct tree_ends all = {0};
	int from = -1;
	if (tree_process() == 0) {
		tree_ends_gather(&all);
		tree_ends_make(&all);
		tree_ends_own(&all);
		tree_ends_serve(&all);
	}
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		struct opened *f = s->used && !s->closed ? opened_of(s) : NULL;
		if (tree_process() == 0) {
			if (f)
				take_own(&all, s, f);
		} else if (f) {
			f->made = tree_end_take(&from, s);
		} else {
			s->used = false; /* the first process keeps what is to be known of it */
		}
		if (f)
			f->flags = (unsigned)fcntl(f->made, F_GETFL) & O_NONBLOCK;
	}
	tree_door_close(from);
	sockets_save();
	tree_ends_close(&all);
}

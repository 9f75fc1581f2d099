#include "restart/tree/tree_sockets.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/tree/tree_ends.h"
#include "restart/base/branch_file.h"

static struct opened *opened_of(const struct sock *s)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (socket_of(f) == s)
			return f;
	return NULL;
}

static void put(const void *bytes, size_t len)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/sockets-%u", lower.opt.tree, tree_process());
	new_file(path, bytes, len);
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
			s->used = false; /* the first process keeps what has to be known of it */
		}
		if (f)
			f->flags = (unsigned)fcntl(f->made, F_GETFL) & O_NONBLOCK;
	}
	tree_door_close(from);
	sockets_save();
	tree_ends_close(&all);
}

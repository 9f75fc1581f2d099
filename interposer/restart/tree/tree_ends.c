#include "restart/tree/tree_ends.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/sockets/socket_streams.h"
#include "base/descriptors.h"
#include "base/io.h"

static void read_told(struct tree_ends *all, int folder, const char *name)
{
	struct stat st;
	int fd = descriptor_open(folder, name, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st))
		live_refuse("%s cannot be read", name);
	const size_t n = (size_t)st.st_size / sizeof(struct told);
	struct told *more = realloc(all->told, (all->n + n) * sizeof(*more));
	if (!more || io_read_all(fd, more + all->n, n * sizeof(*more)))
		live_refuse("%s cannot be read", name);
	all->told = more;
	all->n += (unsigned)n;
	close(fd);
}

static void read_all(struct tree_ends *all)
{
	struct dirent *entry;
	DIR *folder = opendir(lower.opt.tree);
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, "sockets-", 8) && strcmp(entry->d_name, "sockets-door"))
			read_told(all, dirfd(folder), entry->d_name);
	if (!folder)
		live_refuse("%s: %s", lower.opt.tree, strerror(errno));
	closedir(folder);
}

struct end *tree_end_like(const struct tree_ends *all, const struct sock *s, bool second)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->told[i].sock.second == second && !strcmp(all->told[i].sock.key, s->key))
			return &all->list[i];
	return NULL;
}

static void join(struct tree_ends *all)
{
	for (const struct told *t = all->told; t < all->told + all->n; t++) {
		struct end *e = tree_end_like(all, &t->sock, t->sock.second);
		if (!e->first || (t->held && !e->held)) {
			e->first = t;
			e->flags = e->set ? e->flags : t->flags;
		}
		if (t->set && e->set && e->flags != t->flags)
			live_refuse("several of its processes have set different flags of one socket with fcntl(2), "
				    "and which came last is not known");
		e->flags = t->set ? t->flags : e->flags;
		e->set |= t->set;
		e->held |= t->held;
		e->shut |= t->sock.write_shut;
	}
}

static void tell_apart(const struct tree_ends *all)
{
	for (unsigned i = 0; i < all->n; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct sock *a = &all->told[i].sock, *b = &all->told[j].sock;
			const uint32_t from = socket_stream_from(a, false);
			if (strcmp(a->key, b->key) &&
			    (from == socket_stream_from(b, false) || from == socket_stream_from(b, true)))
				live_refuse("its sockets cannot be told apart: choose another event");
		}
}

void tree_ends_gather(struct tree_ends *all)
{
	read_all(all);
	all->list = calloc(all->n + 1ul, sizeof(*all->list));
	if (!all->list)
		live_refuse("out of memory for its sockets");
	join(all);
	tell_apart(all);
}

bool tree_end_connected(const struct end *e)
{
	const enum socket_state state = e->first->sock.state;
	return state == SOCKET_CONNECTS || state == SOCKET_ACCEPTED || state == SOCKET_PAIRED;
}

bool tree_end_goes_on(const struct tree_ends *all, const struct end *e)
{
	if (!e->first)
		return false;
	const struct end *far = tree_end_like(all, &e->first->sock, !e->first->sock.second);
	return e->held || (tree_end_connected(e) && far && far->held);
}

int tree_socket_keep(int fd)
{
	const int kept = fd < 0 ? -errno : lower_fd(fd);
	if (kept < 0)
		live_refuse("a socket of its processes cannot be made: %s", strerror(-kept));
	return kept;
}

void tree_ends_close(struct tree_ends *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		if (all->list[i].fd)
			lower_fd_close(all->list[i].fd);
		free(all->list[i].left);
	}
	free(all->list);
	free(all->told);
}

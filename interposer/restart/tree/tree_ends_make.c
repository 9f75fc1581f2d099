#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/tree/tree_ends.h"
#include "restart/base/streams.h"
#include "restart/sockets/socket_streams.h"
#include "base/descriptors.h"

enum { PATIENCE_MS = 5000 };

/* Both ends over the loopback device. */
static void internet_pair(int ends[2])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	const int door = tree_socket_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	ends[0] = tree_socket_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	struct sockaddr_in own = in, peer;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	if (bind(door, (void *)&in, sizeof(in)) || listen(door, 1) || getsockname(door, (void *)&in, &len) ||
	    bind(ends[0], (void *)&own, sizeof(own)) || getsockname(ends[0], (void *)&own, &own_len) ||
	    connect(ends[0], (void *)&in, sizeof(in)))
		live_refuse("a connection of its processes cannot be made again: %s", strerror(errno));
	do {
		peer_len = sizeof(peer);
		ends[1] = tree_socket_keep(accept4(door, (void *)&peer, &peer_len, SOCK_CLOEXEC));
		if (peer.sin_port != own.sin_port)
			lower_fd_close(ends[1]);
	} while (peer.sin_port != own.sin_port);
	lower_fd_close(door);
}

static void fill(struct end *e)
{
	const struct sock *s = &e->first->sock;
	uint8_t *whole, *from;
	struct all_ops all;
	stream_gather(&all, socket_stream_from(s, s->second));
	size_t left = stream_left(&all, &whole, &from);
	stream_free(&all);
	if (left && s->type != SOCK_STREAM)
		live_refuse("messages are under way between its processes, in sockets that are not streams "
			    "(SOCK_STREAM)");
	e->left = malloc(left + 1);
	if (!e->left)
		live_refuse("out of memory for the unread bytes of its sockets");
	memcpy(e->left, from, left);
	e->left_len = left;
	while (left) {
		struct pollfd one = {.fd = e->fd, .events = POLLOUT};
		ssize_t n = poll(&one, 1, PATIENCE_MS) == 1 ? send(e->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
		if (n <= 0)
			live_refuse("a socket of its processes cannot take the %zu bytes that were under way", left);
		from += n;
		left -= (size_t)n;
	}
	free(whole);
	if (e->shut)
		shutdown(e->fd, SHUT_WR);
	if (s->read_shut && e->held)
		shutdown(e->fd, SHUT_RD);
}

/* A connection that had not been accepted: connects to the listener again. */
static void connect_again(struct end *e)
{
	const struct sock *s = &e->first->sock;
	e->again = true;
	e->fd = tree_socket_keep(socket(s->family, s->type | SOCK_CLOEXEC, s->protocol));
	if (connect(e->fd, (const void *)&s->target, s->target_len))
		live_refuse("a connection that one of its processes had made cannot be made again: %s",
			    strerror(errno));
}

static void make_pair(struct end *e, struct end *far)
{
	const struct sock *s = &e->first->sock;
	int ends[2];
	if (s->family != AF_UNIX) {
		internet_pair(ends);
	} else {
		if (socketpair(AF_UNIX, s->type | SOCK_CLOEXEC, 0, ends))
			live_refuse("a pair of sockets cannot be made: %s", strerror(errno));
		ends[0] = tree_socket_keep(ends[0]);
		ends[1] = tree_socket_keep(ends[1]);
	}
	e->fd = ends[s->second];
	far->fd = ends[!s->second];
}

static void make_one(const struct tree_ends *all, struct end *e)
{
	struct sock s = e->first->sock;
	struct end *far = tree_end_like(all, &s, !s.second);
	if (!tree_end_connected(e)) {
		s.made = 0;
		socket_alone(&s);
		e->fd = s.made;
	} else if (!far && s.state == SOCKET_CONNECTS) {
		connect_again(e);
	} else if (!far) {
		live_refuse("one of its sockets is connected to a process outside of the program (%s)", s.key);
	} else {
		make_pair(e, far);
	}
}

/* Listeners are made before the sockets that connect; the connection made first is accepted first. */
static struct end *next_to_make(const struct tree_ends *all)
{
	struct end *next = NULL;
	for (struct end *e = all->list; e < all->list + all->n; e++) {
		if (!e->held || e->fd)
			continue;
		if (e->first->sock.state == SOCKET_LISTENS)
			return e;
		if (!next || e->first->sock.since_ns < next->first->sock.since_ns)
			next = e;
	}
	return next;
}

void tree_ends_make(struct tree_ends *all)
{
	for (struct end *e; (e = next_to_make(all));)
		make_one(all, e);
	for (struct end *e = all->list; e < all->list + all->n; e++) {
		if (!e->fd || !tree_end_connected(e))
			continue;
		const struct end *far = tree_end_like(all, &e->first->sock, !e->first->sock.second);
		if (far && !far->held)
			continue;
		socket_options(&e->first->sock, e->fd);
		fill(e);
	}
	for (const struct end *e = all->list; e < all->list + all->n; e++)
		if (e->fd && e->held && fcntl(e->fd, F_SETFL, (int)e->flags))
			live_refuse("the flags of a socket of its processes cannot be set: %s", strerror(errno));
}

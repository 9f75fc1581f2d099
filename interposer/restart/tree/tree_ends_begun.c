/* Sockets between processes that a branch began with (sockets_begun.c).  Each process lists those that it has open,
 * under the names that the first process gives them.  The first process also lists the other ends, and all bytes on the
 * way. */
#include <stdio.h>
#include <string.h>
#include "restart/base/cut.h"
#include "restart/tree/tree_ends.h"

static struct sock *own_of(const struct end *e)
{
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && s->second == e->first->sock.second && !strcmp(s->key, e->first->sock.key))
			return s;
	return NULL;
}

static struct sock *unused(void)
{
	struct sock *s = sockets;
	while (s < sockets + SOCKETS && s->used)
		s++;
	if (s == sockets + SOCKETS)
		live_refuse("its processes have more than %d sockets", SOCKETS);
	return s;
}

static void adopt(struct end *e)
{
	if (!e->own) {
		e->own = unused();
		*e->own = e->first->sock;
		e->own->other = NULL;
	}
	struct sock *s = e->own;
	s->closed = !e->held;
	s->write_shut = e->shut;
	s->read_shut = e->first->sock.read_shut;
	s->tail = e->left;
	s->tail_len = s->tail_room = s->left = e->left_len;
	/* no later connection can be called like that */
	snprintf(s->key, sizeof(s->key), "<%.*s", SOCKET_KEY - 2, e->first->sock.key);
}

void tree_ends_own(struct tree_ends *all)
{
	for (struct end *e = all->list; e < all->list + all->n; e++)
		e->own = tree_end_goes_on(all, e) ? own_of(e) : NULL;
	for (struct sock *s = sockets; s < sockets + SOCKETS; s++) {
		bool goes_on = false;
		for (unsigned i = 0; i < all->n; i++)
			goes_on |= all->list[i].own == s;
		s->used &= goes_on;
	}
	for (struct end *e = all->list; e < all->list + all->n; e++)
		if (tree_end_goes_on(all, e))
			adopt(e);
	for (struct end *e = all->list; e < all->list + all->n; e++)
		if (e->own && e->again) { /* the accepting process will find these addresses */
			e->own->made = e->fd;
			socket_name_again(e->own);
			e->own->made = 0;
		}
}

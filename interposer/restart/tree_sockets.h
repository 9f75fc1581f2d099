/* Sockets between processes of a tree (tree.h).  What each did to them it writes down, as for pipes, a stream for each
 * direction.  At the cut each says which ends it has; the first process makes all connections again, with what had been
 * written and not read, and passes the ends to those that have them. */
#ifndef RDB_TREE_SOCKETS_H
#define RDB_TREE_SOCKETS_H
#include <stdbool.h>
#include <stdint.h>
#include "restart/sockets.h"

/* A name that no other socket of the tree has. */
void tree_socket_named(struct sock *s);
/* The number of the stream of what leaves that end, or the other one. */
uint32_t tree_stream_from(const struct sock *s, bool second);
void tree_socket_moved(const struct sock *s, const void *bytes, uint64_t len, bool writing);
/* What a branch began with (sockets_begun.c): it is under way. */
void tree_sockets_loaded(void);
/* To the next program, or a child.  False: errno says why. */
bool tree_sockets_hand_on(int fd);
bool tree_sockets_inherit(int fd);
/* At the cut, or where it has ended; then, when all have told. */
void tree_sockets_tell(bool ended);
void tree_sockets_make(void);

#endif

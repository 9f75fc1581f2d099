/* Sockets of a program with several processes: each process writes down what it did to them, as for pipes, in a stream
 * for each direction (restart/base/streams.h). */
#pragma once
#include "restart/sockets/sockets.h"

/* Gives the socket a name that no other socket of the tree has. */
void socket_stream_named(struct sock *s);
/* Number of the stream of bytes that leave the first or the `second` end. */
uint32_t socket_stream_from(const struct sock *s, bool second);
void socket_stream_moved(const struct sock *s, const void *bytes, uint64_t len, bool writing);
/* Loads what a branch began with (sockets_begun.c): bytes that are on the way. */
void socket_streams_loaded(void);
/* Passes the sockets on to the next program, or a child.  False: errno says why. */
bool sockets_hand_on(int fd);
bool sockets_inherit(int fd);

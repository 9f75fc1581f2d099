/* Calls whose time-out is their socket's (SO_RCVTIMEO, SO_SNDTIMEO): the kernel begins it anew with each call. */
#ifndef RDB_SOCKET_TIMEOUT_H
#define RDB_SOCKET_TIMEOUT_H
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* Might it have one? */
bool socket_waits(long nr);
/* 0: it has none. */
uint64_t socket_timeout_ns(long nr, const uint64_t args[6]);
/* What is to be waited for before the call is made again; false: poll(2) does not know. */
bool socket_poll(long nr, const uint64_t args[6], struct pollfd *ready);
/* The answer when the time is over. */
long socket_late(long nr, const uint64_t args[6]);

#endif

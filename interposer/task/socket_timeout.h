/* Calls whose time-out is their socket's (SO_RCVTIMEO, SO_SNDTIMEO): the kernel begins it anew with each call. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* Can the call have such a time-out? */
bool socket_waits(long nr);
/* The time-out; 0: none. */
uint64_t socket_timeout_ns(long nr, const uint64_t args[6]);
/* What poll(2) is to wait for before the call is made again; false: poll(2) cannot tell. */
bool socket_poll(long nr, const uint64_t args[6], struct pollfd *ready);
/* The call's answer when the time is over. */
long socket_late(long nr, const uint64_t args[6]);

/* sock_diag(7): what the kernel says of a Unix socket. */
#pragma once
#include <stdint.h>

struct unix_peer {
	uint32_t inode;   /* of the other end; 0: it is closed, or not accepted yet */
	uint32_t shut;    /* bits; 1: it receives no more; 2: it sends no more */
	uint32_t waiting; /* of a listener: connections that it has not accepted */
	uint32_t backlog; /* of a listener: how many may wait */
};

/* 0 or -errno. */
int unix_peer_of(uint32_t inode, struct unix_peer *out);

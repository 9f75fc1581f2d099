/* The agent's end of the socket to its server: requests and replies (interface/agent.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "interface/agent.h"

extern struct channel {
	int passed_fd; /* came with the present request, -1: none */
	struct agent_request rq;
	uint8_t payload[AGENT_PACKET];
	uint8_t answer[AGENT_PACKET]; /* room for a reply's */
} channel;

void channel_open(int socket_fd);
/* Closes passed_fd.  It belongs to the new replica, whose exit its peer would not see while it is open here. */
void channel_not_moved(void);
/* In a new replica: passed_fd becomes the socket. */
void channel_move(void);
/* The next request; exits when the server has closed its end. */
void channel_receive(void);
/* The answer to the present request; exits when the server is gone. */
void channel_reply(int64_t status, const void *payload, size_t len);
/* At most four parts. */
void channel_reply_parts(int64_t status, struct iovec *part, unsigned nparts);

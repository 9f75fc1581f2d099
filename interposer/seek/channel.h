/* The agent's end of the socket to its server: requests and replies (seek/agent.h). */
#ifndef RDB_CHANNEL_H
#define RDB_CHANNEL_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "seek/agent.h"

extern struct channel {
	int passed_fd; /* came with the present request, -1: none */
	struct agent_request rq;
	uint8_t payload[AGENT_PACKET];
	uint8_t answer[AGENT_PACKET]; /* room for a reply's */
} channel;

void channel_open(int socket_fd);
/* passed_fd is another's, whose end nobody would notice while it is open here. */
void channel_not_moved(void);
/* Goes on with passed_fd: in a new replica. */
void channel_move(void);
/* The next request; exits when the server has closed its end. */
void channel_receive(void);
/* The answer to the present request; exits when the server is gone. */
void channel_reply(int64_t status, const void *payload, size_t len);
/* At most four parts. */
void channel_reply_parts(int64_t status, struct iovec *part, unsigned nparts);

#endif

#include "seek/channel.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/descriptors.h"

struct channel channel = {.passed_fd = -1};
static int sock = -1;

void channel_reply_parts(int64_t status, struct iovec *part, unsigned nparts)
{
	struct agent_reply r = {.status = status, .op = channel.rq.op};
	struct iovec iov[5] = {{&r, sizeof(r)}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 1 + nparts};
	ssize_t n;

	for (unsigned i = 0; i < nparts; i++) {
		iov[1 + i] = part[i];
		r.len += (uint32_t)part[i].iov_len;
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(0); /* the server is gone */
}

void channel_reply(int64_t status, const void *payload, size_t len)
{
	channel_reply_parts(status, &(struct iovec){(void *)payload, len}, len ? 1 : 0);
}

void channel_not_moved(void)
{
	if (channel.passed_fd >= 0)
		close(channel.passed_fd);
	channel.passed_fd = -1;
}

/* The next request; exits when the server has closed its end. */
void channel_receive(void)
{
	struct iovec iov[2] = {{&channel.rq, sizeof(channel.rq)}, {channel.payload, sizeof(channel.payload)}};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(channel.rq) || (size_t)n - sizeof(channel.rq) != channel.rq.len)
		_exit(n > 0); /* closed; or a peer that does not speak this protocol */
	channel_not_moved();
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&channel.passed_fd, CMSG_DATA(c), sizeof(int));
}

void channel_open(int socket_fd)
{
	sock = descriptor_high(socket_fd);
}

void channel_move(void)
{
	close(sock);
	channel_open(channel.passed_fd);
	channel.passed_fd = -1;
}

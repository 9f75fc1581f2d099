#include "restart/sockets/unix_peers.h"
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/descriptors.h"

struct question {
	struct nlmsghdr head;
	struct unix_diag_req req;
};

static int answered(const struct nlmsghdr *h, size_t len, struct unix_peer *out)
{
	if (!NLMSG_OK(h, len))
		return -EBADMSG;
	if (h->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(h))->error;
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	const struct rtattr *a = (const void *)(m + 1);
	for (size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)); RTA_OK(a, left); a = RTA_NEXT(a, left))
		switch (a->rta_type) {
		case UNIX_DIAG_PEER: memcpy(&out->inode, RTA_DATA(a), sizeof(out->inode)); break;
		case UNIX_DIAG_SHUTDOWN: out->shut = *(const uint8_t *)RTA_DATA(a); break;
		case UNIX_DIAG_RQLEN: {
			struct unix_diag_rqlen q;
			memcpy(&q, RTA_DATA(a), sizeof(q));
			out->waiting = q.udiag_rqueue;
			out->backlog = q.udiag_wqueue;
			break;
		}
		}
	return 0;
}

int unix_peer_of(uint32_t inode, struct unix_peer *out)
{
	struct question ask = {
		.head = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.req = {.sdiag_family = AF_UNIX,
			.udiag_states = ~0u,
			.udiag_ino = inode,
			.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
			.udiag_cookie = {~0u, ~0u}},
	};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} got;
	*out = (struct unix_peer){0};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int rc = fd < 0 ? -errno : lower_fd(fd);
	if (rc < 0)
		return rc;
	fd = rc;
	ssize_t n = send(fd, &ask, sizeof(ask), 0);
	if (n == (ssize_t)sizeof(ask))
		do
			n = recv(fd, got.bytes, sizeof(got), 0);
		while (n < 0 && errno == EINTR);
	rc = n < 0 ? -errno : answered(&got.head, (size_t)n, out);
	lower_fd_close(fd);
	return rc;
}

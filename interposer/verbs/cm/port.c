/* RDMA ports have a number space of their own: a program may listen at the same number with TCP.  So each RDMA port is
 * mapped to a TCP port above the kernel's default range of ephemeral ports (ip(7), ip_local_port_range). */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cm.h"

enum { FIRST = 61000, PORTS = 65536 - FIRST };

socklen_t cm_address_len(const struct sockaddr *a)
{
	return a->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
	       : a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					  : 0;
}

/* The port has the same offset in IPv4 and IPv6 addresses. */
static __be16 *port_in(struct sockaddr *a)
{
	return &((struct sockaddr_in *)a)->sin_port;
}

static __be16 tcp_port(__be16 rdma_port)
{
	unsigned port = ntohs(rdma_port);
	return htons((uint16_t)(port >= FIRST ? port : FIRST + port % PORTS));
}

static int bound_to(const struct sockaddr *address, __be16 rdma_port, bool shared)
{
	struct sockaddr_storage at;
	int one = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	memcpy(&at, address, cm_address_len(address));
	*port_in((struct sockaddr *)&at) = tcp_port(rdma_port);
	if (shared)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)&at, cm_address_len(address)))
		return fd;
	int error = errno;
	close(fd);
	return cm_fail(error);
}

int cm_socket_bound(struct sockaddr *address)
{
	if (*port_in(address))
		return bound_to(address, *port_in(address), true);
	for (unsigned i = 0, from = (unsigned)getpid() * 37; i < PORTS; i++) {
		__be16 port = htons((uint16_t)(FIRST + (from + i) % PORTS));
		int fd = bound_to(address, port, false);
		if (fd >= 0)
			*port_in(address) = port;
		if (fd >= 0 || errno != EADDRINUSE)
			return fd;
	}
	return cm_fail(EADDRNOTAVAIL);
}

int cm_socket_connect(struct cm_id *c)
{
	struct sockaddr *dst = &c->id.route.addr.dst_addr;
	struct sockaddr_storage to;
	if (c->fd < 0)
		c->fd = c->bound ? cm_socket_bound(&c->id.route.addr.src_addr)
				 : socket(dst->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -1;
	memcpy(&to, dst, cm_address_len(dst));
	*port_in((struct sockaddr *)&to) = tcp_port(*port_in(dst));
	return connect(c->fd, (struct sockaddr *)&to, cm_address_len(dst)) && errno != EINPROGRESS ? -1 : 0;
}

EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return cm_address_len(&id->route.addr.src_addr) ? *port_in(&id->route.addr.src_addr) : 0;
}

EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return cm_address_len(&id->route.addr.dst_addr) ? *port_in(&id->route.addr.dst_addr) : 0;
}

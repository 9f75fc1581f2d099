/* Resolving addresses and routes: with TCP below, both succeed at once. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cm.h"

/* Sets the source address to the one that the kernel would use for this destination; the port stays. */
static int local_address(struct cm_id *c, const struct sockaddr *to)
{
	const __be16 port = rdma_get_src_port(&c->id); /* 0 if it is not bound: known when the socket is connected */
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	int error = connect(fd, to, cm_address_len(to)) || getsockname(fd, (struct sockaddr *)&from, &len) ? errno : 0;
	close(fd);
	if (error)
		return error;
	memcpy(&c->id.route.addr.src_storage, &from, len);
	c->id.route.addr.src_sin.sin_port = port; /* it has the same offset in IPv6 addresses */
	return 0;
}

EXPORT int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct cm_id *c = cm_of(id);
	if ((c->state != CM_IDLE && c->state != CM_BOUND) || !cm_address_len(dst))
		return cm_fail(EINVAL);
	if (src && c->state == CM_IDLE && cm_address_len(src) && rdma_bind_addr(id, src))
		return -1;
	memcpy(&id->route.addr.dst_storage, dst, cm_address_len(dst));
	int error = c->state == CM_BOUND && c->device ? 0 : local_address(c, dst);
	if (!error && !c->device)
		error = cm_device_for(c, &id->route.addr.src_addr);
	pthread_mutex_lock(&cm_lock);
	if (!error)
		c->state = CM_ADDRESS;
	cm_event_say(c, error ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -error);
	pthread_mutex_unlock(&cm_lock);
	return cm_complete(c);
}

EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct cm_id *c = cm_of(id);
	if (c->state != CM_ADDRESS)
		return cm_fail(EINVAL);
	if (!id->route.path_rec) {
		id->route.path_rec = calloc(1, sizeof(*id->route.path_rec));
		if (!id->route.path_rec)
			return cm_fail(ENOMEM);
		id->route.path_rec->sgid = c->sgid;
		id->route.path_rec->pkey = id->route.addr.addr.ibaddr.pkey;
		id->route.path_rec->hop_limit = 64;
		id->route.path_rec->reversible = 1;
		id->route.num_paths = 1;
	}
	pthread_mutex_lock(&cm_lock);
	c->state = CM_ROUTE;
	cm_event_say(c, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	pthread_mutex_unlock(&cm_lock);
	return cm_complete(c);
}

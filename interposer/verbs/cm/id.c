/* Identifiers: making, binding, migrating and ending them. */
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cm.h"

struct list cm_ids = {&cm_ids, &cm_ids};

struct cm_id *cm_id_new(struct cm_channel *ch, void *context, enum rdma_port_space ps)
{
	static uint32_t made;
	struct cm_id *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->channel = ch;
	c->id.channel = &ch->channel;
	c->id.context = context;
	c->id.ps = ps;
	c->id.qp_type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	c->fd = -1;
	c->psn = (__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) * 2654435761u) >> 8;
	pthread_mutex_lock(&cm_lock);
	list_append(&cm_ids, &c->link);
	pthread_mutex_unlock(&cm_lock);
	return c;
}

void cm_id_free(struct cm_id *c)
{
	list_remove(&c->link);
	cm_multicast_forget(c);
	if (c->fd >= 0)
		close(c->fd);
	free(c->id.route.path_rec);
	free(c->passive);
	free(c);
}

int cm_watch(struct cm_id *c, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = c};
	return epoll_ctl(c->channel->channel.fd, op, c->fd, &e);
}

EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
			  enum rdma_port_space ps)
{
	struct rdma_event_channel *ch = channel ? channel : rdma_create_event_channel();
	struct cm_id *c = ch ? cm_id_new(cm_channel_of(ch), context, ps) : NULL;
	if (!c) {
		if (ch && !channel)
			rdma_destroy_event_channel(ch);
		return cm_fail(ENOMEM);
	}
	c->sync = !channel;
	*id = &c->id;
	return 0;
}

static void forget_embryos(const struct cm_id *listener)
{
	list_each(struct cm_id, c, &cm_ids, link) {
		if (c->state == CM_EMBRYO && c->listener == listener)
			cm_id_free(c);
	}
}

EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct cm_id *c = cm_of(id);
	struct rdma_event_channel *own = c->sync ? id->channel : NULL;
	if (id->event) {
		rdma_ack_cm_event(id->event);
		id->event = NULL;
	}
	pthread_mutex_lock(&cm_lock);
	if (c->state == CM_CONNECTED || c->state == CM_ACCEPTED)
		cm_send(c, CM_DISCONNECT, NULL, 0);
	cm_events_forget(c);
	forget_embryos(c);
	while (c->given != c->acknowledged)
		pthread_cond_wait(&cm_acked, &cm_lock);
	cm_id_free(c);
	pthread_mutex_unlock(&cm_lock);
	if (own)
		rdma_destroy_event_channel(own);
	return 0;
}

EXPORT int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct cm_id *c = cm_of(id);
	struct rdma_event_channel *to = channel ? channel : rdma_create_event_channel(), *was = id->channel;
	bool was_sync = c->sync;
	int rc = 0;
	if (!to)
		return -1;
	if (c->sync && id->event) {
		rdma_ack_cm_event(id->event);
		id->event = NULL;
	}
	pthread_mutex_lock(&cm_lock);
	while (c->given != c->acknowledged)
		pthread_cond_wait(&cm_acked, &cm_lock);
	uint32_t events = EPOLLIN | (c->state == CM_CONNECTING ? EPOLLOUT : 0);
	if (c->fd >= 0 && c->state > CM_ROUTE)
		cm_watch(c, EPOLL_CTL_DEL, 0);
	cm_events_move(c, cm_channel_of(to));
	c->channel = cm_channel_of(to);
	id->channel = to;
	c->sync = !channel;
	if (c->fd >= 0 && c->state > CM_ROUTE)
		rc = cm_watch(c, EPOLL_CTL_ADD, events);
	pthread_mutex_unlock(&cm_lock);
	if (was_sync)
		rdma_destroy_event_channel(was);
	return rc;
}

static bool is_any(const struct sockaddr *a)
{
	static const struct in6_addr any = IN6ADDR_ANY_INIT;
	return a->sa_family == AF_INET ? !((const struct sockaddr_in *)a)->sin_addr.s_addr
				       : !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &any, sizeof(any));
}

EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct cm_id *c = cm_of(id);
	if (!cm_address_len(addr) || c->state != CM_IDLE)
		return cm_fail(EINVAL);
	if (!is_any(addr)) {
		int error = cm_device_for(c, addr);
		if (error)
			return cm_fail(error);
	}
	/* Bind now: the program may ask for the port. */
	memcpy(&id->route.addr.src_storage, addr, cm_address_len(addr));
	c->fd = cm_socket_bound(&id->route.addr.src_addr);
	if (c->fd < 0)
		return -1;
	c->bound = true;
	c->state = CM_BOUND;
	return 0;
}

EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct cm_id *c = cm_of(id);
	struct sockaddr_in any = {.sin_family = AF_INET};
	if (c->state == CM_IDLE && rdma_bind_addr(id, (struct sockaddr *)&any))
		return -1;
	if (c->state != CM_BOUND)
		return cm_fail(EINVAL);
	pthread_mutex_lock(&cm_lock);
	int rc = listen(c->fd, backlog > 0 ? backlog : SOMAXCONN);
	if (!rc)
		rc = cm_watch(c, EPOLL_CTL_ADD, EPOLLIN);
	if (!rc)
		c->state = CM_LISTENING;
	pthread_mutex_unlock(&cm_lock);
	return rc;
}

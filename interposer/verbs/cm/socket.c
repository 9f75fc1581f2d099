/* Sockets: connections and messages, which all have the same size. */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "cm.h"

enum {
	REJECTED_NO_LISTENER = 8, /* the CM's reason "invalid service id" */
	REFUSALS = 20,            /* connects are tried again so often */
	REFUSED_NS = 25000000,
	LOOKS = 100, /* so often the program is seen not to have polled all before it is told that its peer has left */
	LOOK_NS = 1000000,
};

int cm_send(struct cm_id *c, enum cm_kind kind, const struct rdma_conn_param *p, uint32_t status)
{
	struct cm_message m = {.magic = CM_MAGIC,
			       .version = CM_VERSION,
			       .kind = (uint8_t)kind,
			       .datagrams = c->id.qp_type == IBV_QPT_UD,
			       .psn = c->psn,
			       .qkey = c->qkey,
			       .status = status};
	memcpy(m.gid, &c->sgid, sizeof(m.gid));
	if (p) {
		m.qpn = c->id.qp ? c->id.qp->qp_num : p->qp_num;
		m.srq = c->id.qp ? c->id.qp->srq != NULL : p->srq;
		m.responder_resources = p->responder_resources;
		m.initiator_depth = p->initiator_depth;
		m.flow_control = p->flow_control;
		m.retry_count = p->retry_count;
		m.rnr_retry_count = p->rnr_retry_count;
		m.private_len = p->private_data ? p->private_data_len : 0;
		if (m.private_len)
			memcpy(m.private_data, p->private_data, m.private_len);
	}
	return send(c->fd, &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m) ? 0 : -1;
}

/* Puts the peer's parameters into an event; its two depths are swapped to our point of view. */
static void describe(struct cm_event *e, const struct cm_message *m)
{
	struct rdma_conn_param *p = &e->event.param.conn;
	memcpy(e->data, m->private_data, sizeof(e->data));
	if (m->datagrams)
		return;
	*p = (struct rdma_conn_param){.responder_resources = m->initiator_depth,
				      .initiator_depth = m->responder_resources,
				      .flow_control = m->flow_control,
				      .retry_count = m->retry_count,
				      .rnr_retry_count = m->rnr_retry_count,
				      .srq = m->srq,
				      .qp_num = m->qpn};
}

static void put_described(struct cm_id *c, struct cm_event *e, const struct cm_message *m)
{
	if (!e)
		return;
	describe(e, m);
	if (m->datagrams) {
		e->event.param.ud.qp_num = m->qpn;
		e->event.param.ud.qkey = m->qkey;
		cm_address_of_peer(c, &e->event.param.ud.ah_attr);
		e->event.param.ud.private_data = m->private_len ? e->data : NULL;
		e->event.param.ud.private_data_len = m->private_len;
	} else {
		e->event.param.conn.private_data = m->private_len ? e->data : NULL;
		e->event.param.conn.private_data_len = m->private_len;
	}
	cm_event_put(c->channel, e);
}

static void requested(struct cm_id *c)
{
	struct cm_id *listener = c->listener;
	struct cm_event *e = cm_event_new(c, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (!e || c->peer.kind != CM_REQUEST || c->peer.datagrams != (listener->id.qp_type == IBV_QPT_UD)) {
		free(e);
		cm_id_free(c);
		return;
	}
	e->event.listen_id = &listener->id;
	c->state = CM_WANTED;
	/* until rdma_accept(3) says otherwise: rdma_init_qp_attr(3) may come first */
	c->own.initiator_depth = c->peer.responder_resources;
	c->own.responder_resources = c->peer.initiator_depth;
	c->own.retry_count = c->peer.retry_count;
	put_described(c, e, &c->peer);
}

static void replied(struct cm_id *c)
{
	if (c->id.qp_type == IBV_QPT_UD) {
		c->state = CM_CONNECTED;
		put_described(c, cm_event_new(c, RDMA_CM_EVENT_ESTABLISHED, 0), &c->peer);
		return;
	}
	c->own.initiator_depth = c->peer.responder_resources;
	c->own.responder_resources = c->peer.initiator_depth;
	if (!c->id.qp) {
		c->state = CM_ANSWERED;
		put_described(c, cm_event_new(c, RDMA_CM_EVENT_CONNECT_RESPONSE, 0), &c->peer);
		return;
	}
	if (cm_qp_to_rtr(c) || cm_qp_to_rts(c) || cm_send(c, CM_READY, NULL, 0)) {
		int error = errno;
		c->state = CM_OVER;
		cm_send(c, CM_REJECT, NULL, 1);
		cm_event_say(c, RDMA_CM_EVENT_CONNECT_ERROR, -error);
		return;
	}
	c->state = CM_CONNECTED;
	put_described(c, cm_event_new(c, RDMA_CM_EVENT_ESTABLISHED, 0), &c->peer);
}

static void over(struct cm_id *c)
{
	cm_watch(c, EPOLL_CTL_DEL, 0);
	c->state = CM_OVER;
}

/* Puts a timer in the place of the socket. */
static bool pause_for(struct cm_id *c, enum cm_state state, long ns, unsigned at_most)
{
	struct itimerspec after = {.it_value.tv_nsec = ns};
	if (++c->pauses > at_most)
		return false;
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer < 0)
		return false;
	cm_watch(c, EPOLL_CTL_DEL, 0);
	close(c->fd);
	c->fd = timer;
	c->state = state;
	return !timerfd_settime(timer, 0, &after, NULL) && !cm_watch(c, EPOLL_CTL_ADD, EPOLLIN);
}

/* The peer has left.  On hardware the completions of what it acknowledged and sent before are there long before: the real
 * CM is slow.  A program that ends its queue pair at this event (libfabric) relies on having polled them. */
static void parted(struct cm_id *c)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;
	if (c->state != CM_PARTING)
		c->pauses = 0;
	bool waits = c->qp.context && !ibv_query_qp(&c->qp, &a, IBV_QP_STATE, &init) && a.sq_draining;
	if (waits && pause_for(c, CM_PARTING, LOOK_NS, LOOKS))
		return;
	over(c);
	cm_event_say(c, RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void closed(struct cm_id *c)
{
	enum cm_state was = c->state;
	if (was == CM_CONNECTED) {
		parted(c);
		return;
	}
	over(c);
	switch (was) {
	case CM_EMBRYO: cm_id_free(c); break;
	case CM_LEAVING: cm_event_say(c, RDMA_CM_EVENT_DISCONNECTED, 0); break;
	case CM_ASKED:
	case CM_ANSWERED: cm_event_say(c, RDMA_CM_EVENT_UNREACHABLE, -ECONNRESET); break;
	case CM_WANTED:
	case CM_ACCEPTED: cm_event_say(c, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET); break;
	default: break;
	}
}

static void understand(struct cm_id *c)
{
	struct cm_message m = c->in;
	if (m.magic != CM_MAGIC || m.version != CM_VERSION || m.datagrams > 1) {
		closed(c);
		return;
	}
	if ((c->state == CM_EMBRYO && m.kind == CM_REQUEST) || (c->state == CM_ASKED && m.kind == CM_REPLY)) {
		c->peer = m;
		memcpy(&c->id.route.addr.addr.ibaddr.dgid, m.gid, sizeof(m.gid));
		if (m.kind == CM_REQUEST)
			requested(c);
		else
			replied(c);
	} else if (c->state == CM_ASKED && m.kind == CM_REJECT) {
		over(c);
		put_described(c, cm_event_new(c, RDMA_CM_EVENT_REJECTED, (int)m.status), &m);
	} else if (c->state == CM_ACCEPTED && m.kind == CM_READY) {
		c->state = CM_CONNECTED;
		cm_event_say(c, RDMA_CM_EVENT_ESTABLISHED, 0);
	} else if ((c->state == CM_CONNECTED || c->state == CM_ACCEPTED) && m.kind == CM_DISCONNECT) {
		cm_send(c, CM_DISCONNECTED, NULL, 0);
		parted(c);
	} else if (c->state == CM_LEAVING && (m.kind == CM_DISCONNECTED || m.kind == CM_DISCONNECT)) {
		over(c);
		cm_event_say(c, RDMA_CM_EVENT_DISCONNECTED, 0);
	} else {
		closed(c);
	}
}

static void readable(struct cm_id *c)
{
	ssize_t n = recv(c->fd, (char *)&c->in + c->got, sizeof(c->in) - c->got, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		closed(c);
		return;
	}
	c->got += (size_t)n;
	if (c->got < sizeof(c->in))
		return;
	c->got = 0;
	understand(c);
}

int cm_connect(struct cm_id *c)
{
	if (cm_socket_connect(c) || cm_watch(c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT))
		return -1;
	c->state = CM_CONNECTING;
	return 0;
}

static void not_connected(struct cm_id *c, int error)
{
	over(c);
	if (error == ECONNREFUSED)
		cm_event_say(c, RDMA_CM_EVENT_REJECTED, REJECTED_NO_LISTENER);
	else
		cm_event_say(c, RDMA_CM_EVENT_UNREACHABLE, -error);
}

static void paused(struct cm_id *c)
{
	cm_watch(c, EPOLL_CTL_DEL, 0);
	close(c->fd);
	c->fd = -1;
	if (cm_connect(c))
		not_connected(c, errno);
}

static void connected(struct cm_id *c)
{
	int error = 0;
	socklen_t len = sizeof(error), address = sizeof(c->id.route.addr.src_storage);
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	if (!error && !c->bound)
		getsockname(c->fd, &c->id.route.addr.src_addr, &address);
	if (!error && (cm_send(c, CM_REQUEST, &c->own, 0) || cm_watch(c, EPOLL_CTL_MOD, EPOLLIN)))
		error = errno;
	if (!error)
		c->state = CM_ASKED;
	/* Some programs connect before their peer listens; the real CM is slow enough for them. */
	else if (error != ECONNREFUSED || !pause_for(c, CM_PAUSING, REFUSED_NS, REFUSALS))
		not_connected(c, error);
}

static void accept_one(struct cm_id *listener)
{
	int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct cm_id *c = fd < 0 ? NULL : cm_id_new(listener->channel, listener->id.context, listener->id.ps);
	if (!c) {
		if (fd >= 0)
			close(fd);
		return;
	}
	socklen_t len = sizeof(c->id.route.addr.src_storage), peer_len = len;
	c->fd = fd;
	c->state = CM_EMBRYO;
	c->listener = listener;
	c->id.qp_type = listener->id.qp_type;
	if (getsockname(fd, &c->id.route.addr.src_addr, &len) ||
	    getpeername(fd, &c->id.route.addr.dst_addr, &peer_len) || cm_device_for(c, &c->id.route.addr.src_addr) ||
	    cm_watch(c, EPOLL_CTL_ADD, EPOLLIN)) {
		cm_id_free(c);
		return;
	}
	c->id.route.addr.src_sin.sin_port = rdma_get_src_port(&listener->id);
}

/* False: an earlier event of the same round has freed it. */
static bool still_there(const struct cm_id *c)
{
	list_each(struct cm_id, known, &cm_ids, link)
		if (known == c)
			return true;
	return false;
}

void cm_sockets_ready(struct cm_channel *ch)
{
	struct epoll_event events[16];
	int n = epoll_wait(ch->channel.fd, events, 16, 0);
	for (int i = 0; i < n; i++) {
		struct cm_id *c = events[i].data.ptr;
		if (!c || !still_there(c))
			continue;
		if (c->state == CM_LISTENING)
			accept_one(c);
		else if (c->state == CM_CONNECTING)
			connected(c);
		else if (c->state == CM_PAUSING)
			paused(c);
		else if (c->state == CM_PARTING)
			parted(c);
		else
			readable(c);
	}
}

/* Making, accepting and ending connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "conn.h"
#include "progress.h"

static struct hca_conn *make(int fd, uint32_t ip, uint16_t port, bool initiator)
{
	int one = 1;
	struct hca_conn *c = calloc(1, sizeof(*c));
	if (!c || !(c->in.buf = malloc(CONN_IN_BYTES))) {
		free(c);
		return NULL;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->in.room = CONN_IN_BYTES;
	c->fd = fd;
	c->ip = ip;
	c->port = port;
	c->initiator = initiator;
	c->state = initiator ? CONN_CONNECTING : CONN_AUTH;
	c->deadline = hca_now() + CONN_HANDSHAKE_MS * 1000000ull;
	list_init(&c->dirty);
	list_init(&c->senders);
	list_init(&c->responders);
	list_init(&c->acks);
	list_append(&hca.conns, &c->link);
	hca.nconns++;
	hca.nstrangers++;
	hca_thread_due(c->deadline);
	return c;
}

static struct hca_conn *find(uint32_t ip, uint16_t port)
{
	struct hca_conn *best = NULL;
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->state == CONN_DEAD || c->ip != ip || c->port != port || (c->state != CONN_UP && !c->initiator))
			continue;
		if (c->state == CONN_UP)
			return c;
		best = c;
	}
	return best;
}

struct hca_conn *hca_conn_to(uint32_t ip, uint16_t port, int *rc)
{
	struct hca_conn *c = find(ip, port);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ip};
	if (c)
		return c;
	int fd = hca_keep(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	*rc = fd < 0 ? fd : 0;
	if (!*rc && connect(fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		*rc = -errno;
	if (!*rc && !(c = make(fd, ip, port, true)))
		*rc = -ENOMEM;
	if (!*rc)
		*rc = hca_watch(fd, c, true, true);
	if (*rc && c)
		hca_conn_fail(c, NULL);
	else if (*rc && fd >= 0)
		close(fd);
	return *rc ? NULL : c;
}

void hca_conn_accept(void)
{
	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		int fd = accept4(hca.listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		if (hca.nstrangers >= CONN_STRANGERS || from.sin_family != AF_INET) {
			close(fd);
			continue;
		}
		fd = hca_keep(fd);
		if (fd < 0)
			return;
		uint32_t ip = from.sin_addr.s_addr;
		if (hca_address_is_local(ip))
			ip = htonl(INADDR_LOOPBACK);
		struct hca_conn *c = make(fd, ip, 0, false);
		if (!c)
			close(fd);
		else if (hca_watch(fd, c, true, false))
			hca_conn_fail(c, NULL);
	}
}

/* From now on frames of this connection carry tags. */
static void tag(struct hca_conn *c)
{
	uint8_t *larger = realloc(c->in.buf, CONN_IN_TAGGED);
	if (!larger) {
		hca_conn_fail(c, "out of memory");
		return;
	}
	c->in.buf = larger;
	c->in.room = CONN_IN_TAGGED;
	c->tagged = true;
	hca_auth_keys(c, c->out.key, c->in.key);
}

void hca_conn_is_up(struct hca_conn *c)
{
	if (c->state == CONN_DEAD) /* there was no memory for our proof */
		return;
	c->state = CONN_UP;
	hca.nstrangers--;
	c->slot = c->auth.theirs.slot;
	c->port = (uint16_t)c->auth.theirs.port;
	if (hca.above->tag_all || !hca_auth_same_host(c))
		tag(c);
	hca_conn_touch(c);
}

static void leave_queue_pairs(struct hca_conn *c, bool was_up, bool malformed)
{
	for (unsigned i = 0; i < HCA_QPS && hca.nqps; i++) {
		struct hca_qp *qp = hca.qps[i];
		if (!qp || (qp->sq.conn != c && qp->rx.conn != c))
			continue;
		if (malformed && qp->type != IBV_QPT_UD && hca_qp_hears(qp)) {
			hca_async_raise(qp->pd->context, IBV_EVENT_QP_FATAL, qp, 0);
			hca_qp_fail(qp);
		}
		if (qp->rx.conn == c)
			hca_rx_conn_lost(qp);
		if (qp->sq.conn == c)
			hca_sq_conn_lost(qp, was_up);
	}
}

void hca_conn_fail(struct hca_conn *c, const char *why)
{
	bool was_up = c->state == CONN_UP;
	if (c->state == CONN_DEAD)
		return;
	if (!was_up)
		hca.nstrangers--;
	c->state = CONN_DEAD;
	if (why)
		hca_warn("software HCA: connection closed: %s", why);
	close(c->fd);
	c->fd = -1;
	hca.nconns--;
	leave_queue_pairs(c, was_up, why != NULL);
	while (!list_empty(&c->senders)) /* UD queue pairs whose sq.conn is another connection */
		hca_sq_conn_lost(list_entry(c->senders.next, struct hca_qp, sq.link), was_up);
}

void hca_conns_bury(void)
{
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->state != CONN_DEAD)
			continue;
		list_remove(&c->dirty);
		list_remove(&c->link);
		hca_conn_out_free(c);
		free(c->in.buf);
		free(c);
	}
}

void hca_conns_forget_qp(const struct hca_qp *qp)
{
	list_each(struct hca_conn, c, &hca.conns, link) {
		hca_conn_own(c, qp, NULL, NULL);
		if (c->in.sink.qp == qp)
			c->in.sink = (struct hca_sink){.kind = SINK_DISCARD};
	}
}

void hca_conns_forget_mr(const struct hca_mr *mr)
{
	list_each(struct hca_conn, c, &hca.conns, link) {
		struct hca_sink *s = &c->in.sink;
		hca_conn_own(c, NULL, mr->addr, mr->addr + mr->length);
		for (unsigned i = s->at; s->kind == SINK_SPANS && i < s->nspans; i++) {
			if (s->spans[i].mr != mr)
				continue;
			s->kind = SINK_DISCARD;
			s->faulted = true;
		}
	}
}

/* At the end of a process: sends what is queued, for 1 s at most. */
void hca_conns_stop(void)
{
	uint64_t until = hca_now() + 1000000000;
	bool more = true;
	while (more && hca_now() < until) {
		more = false;
		list_each(struct hca_conn, c, &hca.conns, link) {
			if (c->state != CONN_UP || !c->out.queued)
				continue;
			hca_conn_flush(c);
			more |= c->state == CONN_UP && c->out.queued;
		}
	}
	list_each(struct hca_conn, c, &hca.conns, link) {
		if (c->state == CONN_UP)
			shutdown(c->fd, SHUT_WR);
		hca_conn_fail(c, NULL);
	}
	hca_conns_bury();
}

/* A client that is bound to a port connects to a listener and goes; the listener goes before its events were fetched.
 * "PORTS EVENTS": whether the port stayed, and how many events of the listener came afterwards. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check_errno.h"

enum { OTHERS = 8, GO = 4 };

static struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	CHECK(ch && !fcntl(ch->fd, F_SETFL, O_NONBLOCK));
	return ch;
}

/* The next event's kind; -1: none. */
static int next(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *event;
	usleep(10000); /* what the sockets have said is there */
	if (rdma_get_cm_event(ch, &event)) {
		CHECK(errno == EAGAIN);
		return -1;
	}
	int kind = event->event;
	CHECK(!rdma_ack_cm_event(event));
	return kind;
}

int main(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	struct rdma_event_channel *ours = channel(), *theirs = channel();
	struct rdma_cm_id *listener, *client, *other[OTHERS];
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct rdma_conn_param p = {.retry_count = 5};
	int late = 0, kind;
	CHECK(!rdma_create_id(ours, &listener, NULL, RDMA_PS_TCP) &&
	      !rdma_create_id(theirs, &client, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(listener, (struct sockaddr *)&any) && !rdma_listen(listener, 4));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = rdma_get_src_port(listener);
	CHECK(!rdma_bind_addr(client, (struct sockaddr *)&any));
	const __be16 port = rdma_get_src_port(client);
	CHECK(!rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 1000) &&
	      next(theirs) == RDMA_CM_EVENT_ADDR_RESOLVED);
	printf("%d ", port && rdma_get_src_port(client) == port);
	CHECK(!rdma_resolve_route(client, 1000) && next(theirs) == RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!rdma_create_qp(client, NULL, &attr) && !rdma_connect(client, &p));
	/* the listener's events come behind those of others */
	for (int i = 0; i < OTHERS; i++) {
		CHECK(!rdma_create_id(ours, &other[i], NULL, RDMA_PS_TCP));
		CHECK(!rdma_resolve_addr(other[i], NULL, (struct sockaddr *)&to, 1000));
	}
	for (int i = 0; i < OTHERS; i++) {
		if (i < GO)
			CHECK(next(theirs) == -1);
		CHECK(next(ours) == RDMA_CM_EVENT_ADDR_RESOLVED);
		if (i == GO) {
			rdma_destroy_qp(client);
			CHECK(!rdma_destroy_id(client));
		}
	}
	CHECK(!rdma_destroy_id(listener));
	while ((kind = next(ours)) != -1)
		late++;
	printf("%d\n", late);
	return 0;
}

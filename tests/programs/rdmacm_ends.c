/* Connection management by its own means: "rdmacm_ends server|client FILE"; the server's port is in FILE.
 * Connections of each kind, one after the other: synchronous endpoints, refused, by events, datagrams, and how they end. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check_errno.h"

static const char *file;
static char port[16];

static struct ibv_qp_init_attr small(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
}

static void tell_port(struct rdma_cm_id *id)
{
	char name[4096];
	snprintf(name, sizeof(name), "%s.new", file);
	FILE *f = fopen(name, "w");
	CHECK(f && fprintf(f, "%d\n", ntohs(rdma_get_src_port(id))) > 0 && !fclose(f) && !rename(name, file));
}

static void hear_port(void)
{
	FILE *f = NULL;
	for (int i = 0; i < 3000 && !(f = fopen(file, "r")); i++)
		usleep(10000);
	CHECK(f && fgets(port, sizeof(port), f) && !fclose(f));
	port[strcspn(port, "\n")] = 0;
}

static struct rdma_addrinfo *resolve(const char *service, int flags)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *res;
	CHECK(!rdma_getaddrinfo("127.0.0.1", service, &hints, &res));
	return res;
}

/* One message each way, through the endpoint's own queues. */
static void talk(struct rdma_cm_id *id, const char *text)
{
	static char in[64], out[64];
	struct ibv_wc wc;
	struct ibv_mr *in_mr = rdma_reg_msgs(id, in, sizeof(in)), *out_mr = rdma_reg_msgs(id, out, sizeof(out));
	CHECK(in_mr && out_mr && !rdma_post_recv(id, NULL, in, sizeof(in), in_mr));
	/* both have posted their receives: a barrier would do; RNR retries do as well */
	strcpy(out, text);
	CHECK(!rdma_post_send(id, NULL, out, sizeof(out), out_mr, 0));
	CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	printf("heard: %s\n", in);
	CHECK(!rdma_dereg_mr(in_mr) && !rdma_dereg_mr(out_mr));
}

static struct rdma_conn_param with(const char *data)
{
	return (struct rdma_conn_param){.private_data = data,
					.private_data_len = (uint8_t)(strlen(data) + 1),
					.responder_resources = 2,
					.initiator_depth = 3,
					.retry_count = 5,
					.rnr_retry_count = 7};
}

static void server_endpoints(void)
{
	struct ibv_qp_init_attr attr = small();
	struct rdma_addrinfo *res = resolve("0", RAI_PASSIVE);
	struct rdma_cm_id *listen_id, *id;
	struct rdma_conn_param p = with("welcome");
	CHECK(!rdma_create_ep(&listen_id, res, NULL, &attr));
	CHECK(!rdma_listen(listen_id, 4));
	tell_port(listen_id);
	CHECK(!rdma_get_request(listen_id, &id));
	printf("request: %s, %d %d %d\n", (const char *)id->event->param.conn.private_data,
	       id->event->param.conn.responder_resources, id->event->param.conn.initiator_depth,
	       id->event->param.conn.retry_count);
	CHECK(!rdma_accept(id, &p));
	talk(id, "from the server");
	/* the client leaves */
	struct rdma_cm_event *event;
	CHECK(!rdma_get_cm_event(id->channel, &event));
	printf("%s\n", rdma_event_str(event->event));
	CHECK(!rdma_ack_cm_event(event) && !rdma_disconnect(id));
	rdma_destroy_ep(id);
	/* and one that is not wanted */
	CHECK(!rdma_get_request(listen_id, &id));
	CHECK(!rdma_reject(id, "no", 3));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listen_id);
	rdma_freeaddrinfo(res);
}

static void client_endpoints(void)
{
	struct ibv_qp_init_attr attr = small();
	struct rdma_addrinfo *res = resolve(port, 0);
	struct rdma_cm_id *id;
	struct rdma_conn_param p = with("hello");
	CHECK(!rdma_create_ep(&id, res, NULL, &attr));
	CHECK(!rdma_connect(id, &p));
	printf("established: %s, %d %d\n", (const char *)id->event->param.conn.private_data,
	       id->event->param.conn.responder_resources, id->event->param.conn.initiator_depth);
	talk(id, "from the client");
	CHECK(!rdma_disconnect(id));
	printf("%s\n", rdma_event_str(id->event->event));
	rdma_destroy_ep(id);
	attr = small();
	CHECK(!rdma_create_ep(&id, res, NULL, &attr));
	CHECK(rdma_connect(id, &p) == -1 && errno == ECONNREFUSED);
	printf("%s %d: %s\n", rdma_event_str(id->event->event), id->event->status,
	       (const char *)id->event->param.conn.private_data);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}

static struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	while (rdma_get_cm_event(ch, &event)) { /* it does not block */
		struct pollfd p = {.fd = ch->fd, .events = POLLIN};
		CHECK(errno == EAGAIN && poll(&p, 1, 20000) == 1);
	}
	printf("%s\n", rdma_event_str(event->event));
	CHECK(event->event == type);
	return event;
}

static void done(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	CHECK(!rdma_ack_cm_event(expect(ch, type)));
}

static struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	CHECK(ch && !fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK));
	return ch;
}

static void server_datagrams(void)
{
	struct rdma_event_channel *ch = channel();
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct rdma_cm_id *listen_id;
	struct ibv_qp_init_attr attr = small();
	struct rdma_conn_param p = {0};
	CHECK(!rdma_create_id(ch, &listen_id, (void *)7, RDMA_PS_UDP) &&
	      !rdma_bind_addr(listen_id, (struct sockaddr *)&at));
	CHECK(!rdma_listen(listen_id, 4));
	tell_port(listen_id);
	struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = e->id;
	CHECK(e->listen_id == listen_id && id->context == (void *)7 && id->verbs);
	CHECK(!rdma_ack_cm_event(e) && !rdma_create_qp(id, NULL, &attr) && id->qp->state == IBV_QPS_RTS);
	char *in = calloc(1, 4096);
	struct ibv_mr *mr = rdma_reg_msgs(id, in, 4096);
	CHECK(mr && !rdma_post_recv(id, NULL, in, 4096, mr));
	p.qp_num = id->qp->qp_num;
	CHECK(!rdma_accept(id, &p));
	struct ibv_wc wc;
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	printf("datagram: %s\n", in + 40);
	CHECK(!rdma_dereg_mr(mr));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id) && !rdma_destroy_id(listen_id));
	rdma_destroy_event_channel(ch);
}

static void client_datagrams(void)
{
	struct rdma_event_channel *ch = channel();
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rdma_cm_id *id;
	struct ibv_qp_init_attr attr = small();
	struct rdma_conn_param p = {0};
	CHECK(!rdma_create_id(ch, &id, NULL, RDMA_PS_UDP));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	done(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(id, 1000));
	done(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!rdma_create_qp(id, NULL, &attr) && !rdma_connect(id, &p));
	struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	struct ibv_ah *ah = ibv_create_ah(id->pd, &e->param.ud.ah_attr);
	CHECK(ah && e->param.ud.qkey == RDMA_UDP_QKEY);
	char *out = calloc(1, 64);
	struct ibv_mr *mr = rdma_reg_msgs(id, out, 64);
	strcpy(out, "by itself");
	CHECK(mr && !rdma_post_ud_send(id, NULL, out, 64, mr, 0, ah, e->param.ud.qp_num));
	struct ibv_wc wc;
	CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(!rdma_ack_cm_event(e) && !ibv_destroy_ah(ah) && !rdma_dereg_mr(mr));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
	/* nobody listens there any more, and nobody has this address */
	CHECK(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	to.sin_port = htons(1);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	done(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(id, 1000));
	done(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
	attr = small();
	CHECK(!rdma_create_qp(id, NULL, &attr) && !rdma_connect(id, NULL));
	done(ch, RDMA_CM_EVENT_REJECTED);
	CHECK(rdma_connect(id, NULL) == -1 && errno == EINVAL);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

/* The client leaves as soon as it has heard.  A completion that waits to be polled holds the event back, for a while. */
static void server_left(struct rdma_event_channel *ch, bool polls)
{
	struct ibv_qp_init_attr attr = small();
	struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST), *early;
	struct rdma_cm_id *id = e->id;
	char out[64] = "and off you go";
	CHECK(!rdma_ack_cm_event(e) && !rdma_create_qp(id, NULL, &attr) && !rdma_accept(id, NULL));
	done(ch, RDMA_CM_EVENT_ESTABLISHED);
	struct ibv_mr *mr = rdma_reg_msgs(id, out, sizeof(out));
	CHECK(mr && !rdma_post_send(id, NULL, out, sizeof(out), mr, 0));
	struct pollfd p = {.fd = ch->fd, .events = POLLIN};
	CHECK(poll(&p, 1, 60000) == 1 && rdma_get_cm_event(ch, &early) && errno == EAGAIN);
	struct ibv_wc wc;
	if (polls)
		CHECK(ibv_poll_cq(id->send_cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	done(ch, RDMA_CM_EVENT_DISCONNECTED);
	if (!polls)
		CHECK(ibv_poll_cq(id->send_cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(!rdma_disconnect(id) && !rdma_dereg_mr(mr));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

static void server_departures(void)
{
	struct rdma_event_channel *ch = channel();
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct rdma_cm_id *listen_id;
	CHECK(!rdma_create_id(ch, &listen_id, NULL, RDMA_PS_TCP) &&
	      !rdma_bind_addr(listen_id, (struct sockaddr *)&at) && !rdma_listen(listen_id, 4));
	tell_port(listen_id);
	server_left(ch, true);
	server_left(ch, false);
	CHECK(!rdma_destroy_id(listen_id));
	rdma_destroy_event_channel(ch);
}

static void client_departures(void)
{
	struct rdma_addrinfo *res = resolve(port, 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr attr = small();
		struct rdma_cm_id *id;
		struct ibv_wc wc;
		char in[64];
		CHECK(!rdma_create_ep(&id, res, NULL, &attr));
		struct ibv_mr *mr = rdma_reg_msgs(id, in, sizeof(in));
		CHECK(mr && !rdma_post_recv(id, NULL, in, sizeof(in), mr) && !rdma_connect(id, NULL));
		CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
		CHECK(!rdma_disconnect(id) && !rdma_dereg_mr(mr));
		printf("left after: %s\n", in);
		rdma_destroy_ep(id);
	}
	rdma_freeaddrinfo(res);
}

int main(int argc, char **argv)
{
	static char second[4096], third[4096];
	CHECK(argc == 3);
	file = argv[2];
	if (!strcmp(argv[1], "server")) {
		server_endpoints();
		snprintf(second, sizeof(second), "%s.second", file);
		file = second;
		server_datagrams();
		snprintf(third, sizeof(third), "%s.third", argv[2]);
		file = third;
		server_departures();
	} else {
		hear_port();
		client_endpoints();
		snprintf(second, sizeof(second), "%s.second", file);
		file = second;
		hear_port();
		client_datagrams();
		snprintf(third, sizeof(third), "%s.third", argv[2]);
		file = third;
		hear_port();
		client_departures();
	}
	printf("%s done\n", argv[1]);
	return 0;
}

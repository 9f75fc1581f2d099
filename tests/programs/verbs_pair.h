/* Two processes with a queue pair each.  `prog server FILE` writes its TCP port to FILE, `prog client FILE` reads it;
 * over that socket they tell each other where their queue pairs and buffers are. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "check_errno.h"

enum { BUFFER = 1 << 20, DEPTH = 64 };

struct told {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, rkey, lid;
};

static struct {
	bool server;
	int sock;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buffer;
	struct told own, peer;
	unsigned access;
	uint8_t retry, rnr_retry, timeout;
} it = {.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	.retry = 7,
	.rnr_retry = 7,
	.timeout = 14};

static inline void tell(const void *data, size_t len)
{
	CHECK(write(it.sock, data, len) == (ssize_t)len);
}

static inline void hear(void *data, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = read(it.sock, (char *)data + got, len - got);
		CHECK(n > 0);
		got += (size_t)n;
	}
}

/* Both are here. */
static inline void meet(void)
{
	char c = 'x';
	tell(&c, 1);
	hear(&c, 1);
}

static inline void meet_by_tcp(const char *role, const char *file)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	char name[4096], text[16] = "";
	int one = 1;
	it.server = !strcmp(role, "server");
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(s >= 0);
	if (it.server) {
		CHECK(bind(s, (void *)&at, sizeof(at)) == 0 && listen(s, 1) == 0);
		CHECK(getsockname(s, (void *)&at, &len) == 0);
		snprintf(name, sizeof(name), "%s.new", file);
		FILE *f = fopen(name, "w");
		CHECK(f);
		fprintf(f, "%d", ntohs(at.sin_port));
		fclose(f);
		CHECK(rename(name, file) == 0);
		it.sock = accept(s, NULL, NULL);
		CHECK(it.sock >= 0);
		close(s);
	} else {
		FILE *f = NULL;
		for (int i = 0; i < 3000 && !(f = fopen(file, "r")); i++)
			usleep(10000);
		CHECK(f && fgets(text, sizeof(text), f));
		fclose(f);
		at.sin_port = htons((uint16_t)atoi(text));
		CHECK(connect(s, (void *)&at, sizeof(at)) == 0);
		it.sock = s;
	}
	setsockopt(it.sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static inline void open_device(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	CHECK(list && n > 0);
	it.context = ibv_open_device(list[0]);
	CHECK(it.context);
	ibv_free_device_list(list);
	it.pd = ibv_alloc_pd(it.context);
	CHECK(it.pd);
	it.buffer = aligned_alloc(4096, BUFFER);
	CHECK(it.buffer);
	memset(it.buffer, 0, BUFFER);
	it.mr = ibv_reg_mr(it.pd, it.buffer, BUFFER, (int)it.access);
	CHECK(it.mr);
}

static inline struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = it.cq,
		.recv_cq = it.cq,
		.qp_type = type,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64},
	};
	struct ibv_qp *qp = ibv_create_qp(it.pd, &init);
	CHECK(qp);
	return qp;
}

static inline void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = it.access};
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static inline void to_rts(struct ibv_qp *qp, const struct told *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {.dlid = (uint16_t)peer->lid,
			    .port_num = 1,
			    .is_global = 1,
			    .grh = {.dgid = peer->gid, .sgid_index = 0, .hop_limit = 1}},
	};
	CHECK(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = it.timeout,
				    .retry_cnt = it.retry,
				    .rnr_retry = it.rnr_retry,
				    .max_rd_atomic = 4};
	CHECK(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

static inline void exchange(void)
{
	struct ibv_port_attr port;
	CHECK(!ibv_query_port(it.context, 1, &port));
	CHECK(!ibv_query_gid(it.context, 1, 0, &it.own.gid));
	it.own.addr = (uint64_t)it.buffer;
	it.own.qpn = it.qp->qp_num;
	it.own.rkey = it.mr->rkey;
	it.own.lid = port.lid;
	tell(&it.own, sizeof(it.own));
	hear(&it.peer, sizeof(it.peer));
}

/* argv: prog server|client FILE.  A connected RC queue pair; with_channel: completions by events. */
static inline void pair_up(char **argv, bool with_channel)
{
	meet_by_tcp(argv[1], argv[2]);
	open_device();
	if (with_channel) {
		it.channel = ibv_create_comp_channel(it.context);
		CHECK(it.channel);
	}
	it.cq = ibv_create_cq(it.context, 2 * DEPTH, &it, it.channel, 0);
	CHECK(it.cq);
	it.qp = make_qp(IBV_QPT_RC);
	to_init(it.qp);
	exchange();
	to_rts(it.qp, &it.peer);
	meet();
}

static inline void part(void)
{
	meet();
	CHECK(!ibv_destroy_qp(it.qp));
	CHECK(!ibv_destroy_cq(it.cq));
	if (it.channel)
		CHECK(!ibv_destroy_comp_channel(it.channel));
	CHECK(!ibv_dereg_mr(it.mr));
	CHECK(!ibv_dealloc_pd(it.pd));
	CHECK(!ibv_close_device(it.context));
	close(it.sock);
	printf("%s done\n", it.server ? "server" : "client");
}

static inline void post_recv(uint64_t id, size_t at, uint32_t len)
{
	struct ibv_sge sge = {(uint64_t)it.buffer + at, len, it.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
	CHECK(!ibv_post_recv(it.qp, &wr, &bad));
}

/* From `at` in our buffer to `to` in the peer's. */
static inline void post(uint64_t id, enum ibv_wr_opcode opcode, size_t at, uint32_t len, size_t to)
{
	struct ibv_sge sge = {(uint64_t)it.buffer + at, len, it.mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	wr.imm_data = htonl((uint32_t)id);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = it.peer.addr + to;
		wr.wr.atomic.rkey = it.peer.rkey;
		wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 5 : 12;
		wr.wr.atomic.swap = 77;
	} else {
		wr.wr.rdma.remote_addr = it.peer.addr + to;
		wr.wr.rdma.rkey = it.peer.rkey;
	}
	CHECK(!ibv_post_send(it.qp, &wr, &bad));
}

/* The next completion; within half a minute. */
static inline struct ibv_wc complete(void)
{
	struct ibv_wc wc;
	time_t until = time(NULL) + 30;
	int n;
	while ((n = ibv_poll_cq(it.cq, 1, &wc)) == 0)
		CHECK(time(NULL) < until);
	CHECK(n == 1);
	return wc;
}

static inline struct ibv_wc succeed(uint64_t id)
{
	struct ibv_wc wc = complete();
	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != id) {
		fprintf(stderr, "request %lu: %s (expected %lu)\n", (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status), (unsigned long)id);
		exit(3);
	}
	return wc;
}

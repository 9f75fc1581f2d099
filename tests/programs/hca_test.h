/* Two processes, each with a software HCA of its own, and what tests of them need. */
#pragma once
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs/provider.h"

enum { BUFFER = 8 << 20, DEPTH = 256, DEADLINE_S = 20 };

static int me;      /* 0 or 1 */
static int line_fd; /* to the other one */
static const struct verbs_provider *hca;
static void *context, *pd, *cq, *mr;
static int async_fd;
static uint8_t *buffer; /* registered with every right */
static uint32_t lkey, rkey, peer_rkey;
static uint8_t *peer_buffer;
static volatile unsigned arrivals;
static const char *key_files[8]; /* of each side, if not $HCA_KEY */
static uint64_t written;         /* bytes that wrote() told of */

#define CHECK(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: side %d: not so: %s\n", __FILE__, __LINE__, me, #x); \
			_exit(1); \
		} \
	} while (0)
#define OK(x) \
	do { \
		int rc_ = (x); \
		if (rc_) { \
			fprintf(stderr, "%s:%d: side %d: %s: %s\n", __FILE__, __LINE__, me, #x, strerror(-rc_)); \
			_exit(1); \
		} \
	} while (0)

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wrote(void *upper, size_t len)
{
	(void)upper;
	written += len;
}

static void arrived(void)
{
	arrivals++;
}

/* The kernel says what is not there. */
static size_t copy(void *to, const void *from, size_t len)
{
	struct iovec ours = {to, len}, theirs = {(void *)from, len};
	ssize_t n = process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0);
	return n < 0 ? 0 : (size_t)n;
}

static void warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Gives the other side `mine`, takes its; progress goes on meanwhile. */
static void swap(const void *mine, void *theirs, size_t len)
{
	size_t got = 0;
	double until = now_s() + DEADLINE_S;
	CHECK(write(line_fd, mine, len) == (ssize_t)len);
	while (got < len) {
		struct pollfd p = {.fd = line_fd, .events = POLLIN};
		if (poll(&p, 1, 1) > 0) {
			ssize_t n = read(line_fd, (char *)theirs + got, len - got);
			CHECK(n > 0);
			got += (size_t)n;
		}
		if (context)
			hca->progress();
		CHECK(now_s() < until);
	}
}

static void barrier(void)
{
	char a = 1, b;
	swap(&a, &b, 1);
}

static void open_device(void)
{
	int vectors, cqe = 4 * DEPTH;
	static struct verbs_above above = {.wrote = wrote, .arrived = arrived, .warn = warn, .copy = copy};
	above.key_file = key_files[me] ? key_files[me] : getenv("HCA_KEY");
	above.tag_all = getenv("HCA_TAGS") != NULL;
	hca = verbs_soft();
	OK(hca->start(&above));
	OK(hca->open(0, &context, &async_fd, &vectors));
	OK(hca->alloc_pd(context, &pd));
	OK(hca->create_cq(context, &cqe, NULL, 0, &cq));
	buffer = aligned_alloc(4096, BUFFER);
	memset(buffer, 0, BUFFER);
	OK(hca->reg_mr(pd, buffer, BUFFER, (uint64_t)buffer,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
		       &mr, &lkey, &rkey));
}

struct address {
	uint32_t qpn, rkey;
	uint8_t *buffer;
};

struct qp {
	void *handle;
	uint32_t number;
	enum ibv_qp_type type;
	struct address peer;
	/* of the transitions; changed before qp_connect() */
	int timeout, retry_cnt, rnr_retry, max_reads, max_dest_reads, access;
};

static struct qp qp_make_on(enum ibv_qp_type type, void *the_pd, void *scq, void *rcq, void *srq, bool sig_all)
{
	struct qp q = {.type = type,
		       .timeout = 8,
		       .retry_cnt = 3,
		       .rnr_retry = 7,
		       .max_reads = 4,
		       .max_dest_reads = 4,
		       .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				 IBV_ACCESS_REMOTE_ATOMIC};
	struct verbs_qp_links links = {.pd = the_pd, .send_cq = scq, .recv_cq = rcq, .srq = srq};
	struct ibv_qp_init_attr a = {.qp_type = type,
				     .sq_sig_all = sig_all,
				     .cap = {.max_send_wr = DEPTH,
					     .max_recv_wr = DEPTH,
					     .max_send_sge = 4,
					     .max_recv_sge = 4,
					     .max_inline_data = 256}};
	OK(hca->create_qp(&links, &a, &q.handle, &q.number));
	return q;
}

static struct qp qp_make(enum ibv_qp_type type)
{
	return qp_make_on(type, pd, cq, cq, NULL, true);
}

static void qp_init(struct qp *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)q->access, .qkey = 0x1234};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	OK(hca->modify_qp(q->handle, &a, mask | (q->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static void qp_swap(struct qp *q)
{
	struct address mine = {.qpn = q->number, .rkey = rkey, .buffer = buffer};
	swap(&mine, &q->peer, sizeof(mine));
	peer_rkey = q->peer.rkey;
	peer_buffer = q->peer.buffer;
}

static int qp_rtr_mask(const struct qp *q)
{
	if (q->type == IBV_QPT_UD)
		return IBV_QP_STATE;
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	return q->type == IBV_QPT_RC ? mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : mask;
}

static struct ibv_qp_attr qp_attr(const struct qp *q)
{
	return (struct ibv_qp_attr){.path_mtu = IBV_MTU_1024,
				    .dest_qp_num = q->peer.qpn,
				    .rq_psn = me ? 100 : 0xffffff,
				    .sq_psn = me ? 0xffffff : 100,
				    .max_dest_rd_atomic = (uint8_t)q->max_dest_reads,
				    .max_rd_atomic = (uint8_t)q->max_reads,
				    .min_rnr_timer = 12,
				    .timeout = (uint8_t)q->timeout,
				    .retry_cnt = (uint8_t)q->retry_cnt,
				    .rnr_retry = (uint8_t)q->rnr_retry,
				    .ah_attr = {.port_num = 1}};
}

static void qp_rtr(struct qp *q)
{
	struct ibv_qp_attr a = qp_attr(q);
	a.qp_state = IBV_QPS_RTR;
	OK(hca->modify_qp(q->handle, &a, qp_rtr_mask(q)));
}

static int qp_rts_mask(const struct qp *q)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	return q->type == IBV_QPT_RC
		       ? mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
		       : mask;
}

static void qp_rts(struct qp *q)
{
	struct ibv_qp_attr a = qp_attr(q);
	a.qp_state = IBV_QPS_RTS;
	OK(hca->modify_qp(q->handle, &a, qp_rts_mask(q)));
}

static void qp_connect(struct qp *q)
{
	qp_swap(q);
	qp_init(q);
	qp_rtr(q);
	qp_rts(q);
	barrier();
}

static enum ibv_qp_state qp_state(const struct qp *q)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr i;
	OK(hca->query_qp(q->handle, &a, IBV_QP_STATE, &i));
	return a.qp_state;
}

static int qp_to(const struct qp *q, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	return hca->modify_qp(q->handle, &a, IBV_QP_STATE);
}

static struct ibv_sge piece(void *at, size_t len)
{
	return (struct ibv_sge){.addr = (uint64_t)at, .length = (uint32_t)len, .lkey = lkey};
}

static void post_recv(struct qp *q, uint64_t id, void *at, size_t len)
{
	struct ibv_sge s = piece(at, len);
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &s, .num_sge = 1};
	OK(hca->post_recv(q->handle, &wr, &bad));
}

/* A request about one piece of our buffer; the rest is set by the caller. */
static struct ibv_send_wr request(uint64_t id, enum ibv_wr_opcode op, struct ibv_sge *s)
{
	return (struct ibv_send_wr){
		.wr_id = id, .opcode = op, .sg_list = s, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
}

static void post(struct qp *q, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	OK(hca->post_send(q->handle, wr, &bad));
}

static void post_send(struct qp *q, uint64_t id, void *at, size_t len)
{
	struct ibv_sge s = piece(at, len);
	struct ibv_send_wr wr = request(id, IBV_WR_SEND, &s);
	post(q, &wr);
}

static void post_rdma(struct qp *q, uint64_t id, enum ibv_wr_opcode op, void *at, size_t len, void *remote,
		      uint32_t key)
{
	struct ibv_sge s = piece(at, len);
	struct ibv_send_wr wr = request(id, op, &s);
	wr.wr.rdma.remote_addr = (uint64_t)remote;
	wr.wr.rdma.rkey = key;
	wr.imm_data = htobe32(0xabcd);
	post(q, &wr);
}

static struct ibv_wc wait_wc_on(void *queue)
{
	struct ibv_wc wc;
	double until = now_s() + DEADLINE_S;
	int n;
	while (!(n = hca->poll_cq(queue, 1, &wc)))
		CHECK(now_s() < until);
	CHECK(n == 1);
	return wc;
}

static struct ibv_wc wait_wc(uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_wc_on(cq);
	if (wc.wr_id != id || wc.status != status) {
		fprintf(stderr, "side %d: completion %lu with status %d; expected %lu with %d\n", me, wc.wr_id,
			wc.status, id, status);
		_exit(1);
	}
	return wc;
}

static void no_wc(void)
{
	struct ibv_wc wc;
	CHECK(hca->poll_cq(cq, 1, &wc) == 0);
}

static void fill(uint8_t *at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)((i * 7 + seed) ^ (i >> 8) * 13);
}

static void check_filled(const uint8_t *at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != (uint8_t)((i * 7 + seed) ^ (i >> 8) * 13)) {
			fprintf(stderr, "side %d: byte %zu of %zu differs\n", me, i, len);
			_exit(1);
		}
}

/* The next event of this kind, within the deadline. */
static void *wait_async(int kind)
{
	int type, port;
	void *object;
	double until = now_s() + DEADLINE_S;
	while (hca->async_event(context, &type, &object, &port) == -EAGAIN) {
		hca->progress();
		CHECK(now_s() < until);
	}
	if (type != kind)
		fprintf(stderr, "side %d: event %d, expected %d\n", me, type, kind);
	CHECK(type == kind);
	return object;
}

/* Runs `body` in two processes, then ends; 0 if both were content. */
static int two_sides(void (*body)(void))
{
	int pair[2], status;
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid_t child = fork();
	CHECK(child >= 0);
	me = child == 0;
	line_fd = pair[me];
	close(pair[!me]);
	alarm(60);
	open_device();
	body();
	hca->stop();
	if (me)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

struct scenario {
	const char *name;
	void (*run)(void);
};

static int run_scenario(const struct scenario *all, size_t n, const char *name)
{
	if (!strcmp(name, "--list")) {
		for (size_t i = 0; i < n; i++)
			puts(all[i].name);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return two_sides(all[i].run);
	fprintf(stderr, "no scenario %s\n", name);
	return 2;
}

/* Fuzz target: the input is what a peer sends, and what the program does meanwhile.
 *
 * First byte 0: raw bytes to a connection that is not authenticated.  Otherwise a list of commands: frames made of
 * fields that are nearly right (with tags, if the byte has its second bit), raw bytes, and calls.  Each region is an allocation of its own, so that the sanitizer
 * sees a byte past it; and each write must be said, and be inside a region that allows it. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include "target.h"
#include "verbs/soft/conn.h"
#include "verbs/soft/mcast.h"
#include "verbs/soft/progress.h"

enum { REGIONS = 4, PAIRS = 5, REGION = 3000, SLOT = 5, PEER_SLOT = 6 };

static struct {
	const uint8_t *at, *end;
} input;
static void *context, *pd, *cq, *srq, *ah;
static struct {
	uint8_t *memory;
	void *handle;
	uint32_t key;
	bool writable;
} regions[REGIONS];
static struct hca_qp *pairs[PAIRS];
static const union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 1}};
static struct hca_mw *window;
static struct hca_conn *conn;
static int peer_fd;

static uint8_t byte(void)
{
	return input.at < input.end ? *input.at++ : 0;
}

static void wrote(void *upper, size_t len)
{
	for (unsigned i = 0; i < REGIONS; i++)
		if (regions[i].handle && regions[i].writable && (uint8_t *)upper >= regions[i].memory &&
		    (uint8_t *)upper + len <= regions[i].memory + REGION)
			return;
	abort();
}

static void arrived(void) {}

static void warn(const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

static const struct verbs_above above = {.wrote = wrote, .arrived = arrived, .warn = warn};

static void need(int rc)
{
	if (rc)
		abort();
}

static void pair(unsigned i, enum ibv_qp_type type, void *use_srq)
{
	uint32_t number;
	struct verbs_qp_links links = {.pd = pd, .send_cq = cq, .recv_cq = cq, .srq = use_srq};
	struct ibv_qp_init_attr a = {.qp_type = type,
				     .sq_sig_all = 1,
				     .cap = {.max_send_wr = 8,
					     .max_recv_wr = 8,
					     .max_send_sge = 3,
					     .max_recv_sge = 3,
					     .max_inline_data = 64}};
	need(hca_create_qp(&links, &a, (void **)&pairs[i], &number));
}

/* As ibv_modify_qp would, without the calls. */
static void ready(unsigned i, enum ibv_qp_state state)
{
	struct hca_qp *qp = pairs[i];
	need(hca_rx_init(qp, 3));
	qp->state = state;
	qp->attr = (struct ibv_qp_attr){.qp_access_flags = 15,
					.dest_qp_num = PEER_SLOT << HCA_SLOT_SHIFT | (i + 2),
					.max_rd_atomic = 2,
					.max_dest_rd_atomic = 3,
					.retry_cnt = 1,
					.rnr_retry = 1,
					.timeout = 1,
					.qkey = 7};
	qp->peer_ip = conn->ip;
	qp->peer_port = conn->port;
	qp->sq.retries = qp->sq.rnr_retries = 1;
}

static void begin(bool up, bool tagged)
{
	static const unsigned access[REGIONS] = {15, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
						 15 | IBV_ACCESS_MW_BIND};
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 3}};
	struct ibv_ah_attr to = {.port_num = 1};
	int cqe = 4096, fds[2], fd, vectors;
	uint32_t lkey;
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	peer_fd = fds[1];
	need(hca_open(0, &context, &fd, &vectors));
	need(hca_alloc_pd(context, &pd));
	need(hca_create_cq(context, &cqe, NULL, 0, &cq));
	need(hca_create_srq(pd, &shared, &srq));
	need(hca_create_ah(pd, &to, &ah));
	for (unsigned i = 0; i < REGIONS; i++) {
		regions[i].memory = malloc(REGION);
		memset(regions[i].memory, 0, REGION);
		regions[i].writable = access[i] & IBV_ACCESS_LOCAL_WRITE;
		need(hca_reg_mr(pd, regions[i].memory, REGION, (uint64_t)regions[i].memory, access[i],
				&regions[i].handle, &lkey, &regions[i].key));
	}
	conn = calloc(1, sizeof(*conn));
	*conn = (struct hca_conn){.fd = fds[0],
				  .state = up ? CONN_UP : CONN_AUTH,
				  .ip = 0x0100007f,
				  .port = 1 + PEER_SLOT,
				  .slot = PEER_SLOT,
				  .tagged = tagged,
				  .in.room = tagged ? CONN_IN_TAGGED : CONN_IN_BYTES,
				  .deadline = UINT64_MAX};
	conn->in.buf = malloc(conn->in.room);
	list_init(&conn->dirty), list_init(&conn->senders), list_init(&conn->responders), list_init(&conn->acks);
	list_append(&hca.conns, &conn->link);
	hca.nconns++;
	hca.nstrangers += !up;
	pair(0, IBV_QPT_RC, NULL), pair(1, IBV_QPT_RC, srq), pair(2, IBV_QPT_UC, NULL), pair(3, IBV_QPT_UD, NULL);
	pair(4, IBV_QPT_RC, NULL);
	for (unsigned i = 0; i < PAIRS; i++)
		ready(i, i == 4 ? IBV_QPS_RTR : IBV_QPS_RTS);
	need(hca_attach_mcast(pairs[3], &group, 0));
	need(hca_alloc_mw(pd, IBV_MW_TYPE_2, (void **)&window, &lkey));
	struct ibv_mw_bind_info info = {.mr = regions[3].handle,
					.addr = (uint64_t)regions[3].memory + 100,
					.length = 200,
					.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	const uint32_t key = window->key + ((window->key & 0xff) == 0xff ? -255 : 1);
	need(hca_mw_bind(pairs[0], key, regions[3].key, &info));
}

static void end(void)
{
	if (pairs[3])
		need(hca_detach_mcast(pairs[3], &group, 0));
	for (unsigned i = 0; i < PAIRS; i++)
		if (pairs[i])
			need(hca_destroy_qp(pairs[i]));
	memset(pairs, 0, sizeof(pairs));
	list_each(struct hca_conn, c, &hca.conns, link)
		hca_conn_fail(c, NULL);
	hca_conns_bury();
	need(hca_dealloc_mw(window));
	for (unsigned i = 0; i < REGIONS; i++) {
		if (regions[i].handle)
			need(hca_dereg_mr(regions[i].handle));
		regions[i].handle = NULL;
		free(regions[i].memory);
	}
	need(hca_destroy_ah(ah));
	need(hca_destroy_srq(srq));
	need(hca_destroy_cq(cq));
	need(hca_dealloc_pd(pd));
	need(hca_close(context));
	close(peer_fd);
	if (!list_empty(&hca.conns) || hca.nqps || hca.nconns || hca.nstrangers)
		abort();
}

static struct ibv_sge some_sge(void)
{
	static const uint32_t lengths[] = {0, 1, 8, 100, 2999, 3000, 3001, 0x7fffffff};
	unsigned r = byte() % REGIONS, b = byte();
	return (struct ibv_sge){.addr = (uint64_t)regions[r].memory + (b >> 4),
				.length = lengths[b & 7],
				.lkey = regions[r].key ^ ((b & 8) && (b & 0x80))};
}

static uint32_t some_rkey(uint8_t b)
{
	return b & 0x80 ? window->key : regions[b % REGIONS].key ^ (b >> 6);
}

/* A header whose fields fit, but for the few that the input wants otherwise. */
static void send_frame(void)
{
	static const uint8_t ops[] = {FRAME_SEND,      FRAME_WRITE,     FRAME_READ,      FRAME_CMP_SWAP,
				      FRAME_FETCH_ADD, FRAME_DATAGRAM,  FRAME_ACK,       FRAME_NAK,
				      FRAME_RNR,       FRAME_DROPPED,   FRAME_READ_DATA, FRAME_ATOMIC_DATA,
				      FRAME_SEND,      FRAME_MULTICAST, FRAME_CM,        0};
	static const uint32_t totals[] = {0,  1,    8,   64,  100,  2999,       3000,   3001,
					  40, 4096, 200, 201, 5000, 0x80000000, 300000, 16};
	static const struct frame first;
	static struct frame last; /* of a message under way */
	uint8_t op = byte(), who = byte(), how = byte(), key = byte(), size = byte(), cut = byte();
	struct frame f = {.op = ops[op & 15], .flags = how & 7, .code = 1 + (how >> 3) % 3};
	struct hca_qp *qp = pairs[who % PAIRS];
	bool request = f.op < FRAME_ACK;
	if (!qp)
		return;
	f.dest = qp->number;
	f.source = PEER_SLOT << HCA_SLOT_SHIFT | (who % PAIRS + 2);
	f.seq = ((request ? qp->rx.seq : qp->sq.acked) + (who >> 6 == 3)) & FRAME_NUMBERS;
	f.attempt = (uint8_t)(request ? who >> 5 & 1 : qp->sq.attempt);
	f.rkey = f.extra = some_rkey(key);
	f.qkey = 7;
	f.addr = (uint64_t)regions[key % REGIONS].memory + (key >> 2 & 15) * 8 + (cut >> 7);
	f.total = totals[size & 15];
	f.length = f.total;
	if (f.op == FRAME_CMP_SWAP || f.op == FRAME_FETCH_ADD)
		f.total = f.length = FRAME_ATOMIC_OPERANDS, f.flags = 0;
	if (f.op == FRAME_READ)
		f.length = 0, f.flags = 0;
	if (!request && f.op != FRAME_READ_DATA)
		f.total = f.length = 0;
	if (!request)
		f.flags = 0;
	if (f.op == FRAME_MULTICAST)
		hca_frame_set_group(&f, &group);
	if (f.op == FRAME_WRITE || f.op == FRAME_DATAGRAM || f.op == FRAME_MULTICAST)
		f.flags &= FRAME_SOLICITED | FRAME_IMM;
	if ((size & 0x40) && last.op == f.op && last.dest == f.dest && last.offset + last.length < last.total) {
		f = last; /* it goes on */
		f.offset += f.length;
		f.length = f.total - f.offset;
	}
	if ((size & 0x80) && f.length > 1)
		f.length = f.length * (1 + cut % 7) / 8;
	if (f.length > 8192)
		f.length = 8192;
	last = op & 0x80 ? first : f;
	if (op & 0x40)
		((uint8_t *)&f)[byte() % sizeof(f)] ^= byte();
	uint8_t data[sizeof(f) + 8192 + FRAME_TAG];
	size_t all = sizeof(f) + (f.length < 8192 ? f.length : 8192), part = cut & 3 ? all : all / 2;
	memset(data, how, sizeof(data));
	memcpy(data, &f, sizeof(f));
	if (conn->tagged) {
		const uint64_t tag = frame_tag(conn->in.key, conn->in.number, data, all);
		memcpy(data + all, &tag, sizeof(tag));
		all += sizeof(tag);
	}
	hca_conn_feed(conn, data, part);
	if (part < all && (cut & 0x10))
		hca_progress_output();
	if (part < all && conn->state == CONN_UP)
		hca_conn_feed(conn, data + part, all - part);
}

static void post(void)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND,          IBV_WR_SEND_WITH_IMM,      IBV_WR_RDMA_WRITE,
						 IBV_WR_RDMA_READ,     IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_RDMA_READ,
						 IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV};
	uint8_t who = byte(), op = byte();
	struct hca_qp *qp = pairs[who % PAIRS];
	struct ibv_sge s[2] = {some_sge(), some_sge()};
	struct ibv_send_wr *bad,
		wr = {.sg_list = s, .num_sge = 1 + (op >> 7), .opcode = ops[op & 7], .send_flags = op >> 3 & 2};
	struct ibv_recv_wr *bad_recv, recv = {.sg_list = s, .num_sge = 1 + (op >> 7)};
	if (!qp)
		return;
	if (who & 0x40) {
		if (qp->srq)
			hca_post_srq_recv(srq, &recv, &bad_recv);
		else
			hca_post_recv(qp, &recv, &bad_recv);
		return;
	}
	wr.wr.rdma.rkey = regions[0].key;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		wr.wr.atomic.rkey = regions[0].key;
	if (qp->type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = PEER_SLOT << HCA_SLOT_SHIFT | 9;
	}
	hca_post_send(qp, &wr, &bad);
}

static void call(void)
{
	uint8_t what = byte(), who = byte();
	struct hca_qp *qp = pairs[who % PAIRS];
	struct ibv_qp_attr a = {.qp_state = what & 0x40 ? IBV_QPS_RESET : IBV_QPS_ERR};
	struct ibv_wc wc[16];
	uint8_t drain[65536];
	uint32_t l, r;
	unsigned region = who % REGIONS;
	switch (what % 6) {
	case 0:
		if (qp)
			hca_modify_qp(qp, &a, IBV_QP_STATE);
		break;
	case 1:
		if (qp && what & 0x80) {
			pairs[who % PAIRS] = NULL;
			if (qp->groups)
				need(hca_detach_mcast(qp, &group, 0));
			need(hca_destroy_qp(qp));
		}
		break;
	case 2:
		if (regions[region].handle && !hca_dereg_mr(regions[region].handle))
			regions[region].handle = NULL;
		break;
	case 3:
		if (regions[region].handle)
			hca_rereg_mr(regions[region].handle, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				     regions[region].writable ? 15 : 4, &l, &r);
		break;
	case 4: hca_poll_cq(cq, 16, wc); break;
	default:
		while (read(peer_fd, drain, sizeof(drain)) > 0)
			hca_progress_output();
	}
}

static void raw(void)
{
	size_t n = byte(), left = (size_t)(input.end - input.at);
	n = n < left ? n : left;
	hca_conn_feed(conn, input.at, n);
	input.at += n;
}

static void commands(void)
{
	while (input.at < input.end && conn->state != CONN_DEAD) {
		switch (byte() & 15) {
		case 0: raw(); break;
		case 1:
		case 2:
		case 3: post(); break;
		case 4: call(); break;
		default: send_frame();
		}
		hca_pump();
	}
}

static void start(void)
{
	hca.above = &above;
	hca.slot = SLOT;
	hca.base = 1; /* where nobody of ours listens */
	list_init(&hca.conns), list_init(&hca.timers), list_init(&hca.contexts);
	hca.epoll = epoll_create1(0);
	hca_gids_read();
	memset(hca.key, 42, sizeof(hca.key));
	hca.next_qp = 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t magic[8] = {'r', 'd', 'b', 'h', 'c', 'a', 0, FRAME_VERSION};
	if (hca.epoll < 0)
		start();
	if (!len)
		return 0;
	input.at = data + 1;
	input.end = data + len;
	begin(data[0], data[0] & 2);
	if (data[0]) {
		commands();
	} else {
		if (byte() & 1)
			hca_conn_feed(conn, magic, sizeof(magic));
		hca_conn_feed(conn, input.at, (size_t)(input.end - input.at));
		if (conn->state == CONN_UP)
			abort(); /* without the key */
	}
	end();
	return 0;
}

/* verbs_provider SO SYMBOL [GID-INDEX]: one thing after the other through a provider of verbs (provider.h), between two
 * queue pairs of one process.  What it prints is the same for every provider. */
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "provider.h"

enum { SIZE = 4096, DEPTH = 16, QKEY = 0x11111111, PATIENCE_S = 20 };

static const struct verbs_provider *p;
static void *context, *pd, *channel, *cq, *srq;
static union ibv_gid gid;
static uint16_t lid;
static int gid_index = 1, channel_fd;
static enum ibv_mtu mtu;

struct side {
	void *qp, *mr;
	uint32_t number, lkey, rkey;
	char memory[SIZE] __attribute__((aligned(4096)));
};
static struct side a, b;

static void die(const char *what, int rc)
{
	printf("%s: %s\n", what, strerror(-rc));
	exit(1);
}

static void check(const char *what, int rc)
{
	if (rc < 0)
		die(what, rc);
}

static void wrote(void *upper, size_t len) {}

static void arrived(void) {}

static void warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The next completion, whoever's. */
static struct ibv_wc next(void)
{
	struct ibv_wc wc;
	double end = now() + PATIENCE_S;
	for (;;) {
		memset(&wc, 0, sizeof(wc));
		int n = p->poll_cq(cq, 1, &wc);
		check("poll_cq", n);
		if (n)
			return wc;
		if (now() > end)
			die("no completion", -ETIMEDOUT);
	}
}

/* What completed, wr_id by wr_id: both sides' completions come in any order. */
static void expect(const char *what, unsigned n)
{
	struct ibv_wc by_id[8] = {0};
	for (unsigned i = 0; i < n; i++) {
		struct ibv_wc wc = next();
		by_id[wc.wr_id & 7] = wc;
	}
	printf("%s:", what);
	for (unsigned i = 1; i < 8; i++)
		if (by_id[i].wr_id) {
			printf(" %lu %s", (unsigned long)by_id[i].wr_id, ibv_wc_status_str(by_id[i].status));
			if (by_id[i].status)
				continue;
			if (by_id[i].opcode & IBV_WC_RECV)
				printf(" opcode %d bytes %u", by_id[i].opcode, by_id[i].byte_len);
			else
				printf(" opcode %d", by_id[i].opcode);
			if (by_id[i].opcode & IBV_WC_RECV && by_id[i].wc_flags & IBV_WC_WITH_IMM)
				printf(" imm %#x", be32toh(by_id[i].imm_data));
		}
	printf("\n");
}

static void setup(enum ibv_qp_type type, struct side *s, bool shared)
{
	struct verbs_qp_links links = {.pd = pd, .send_cq = cq, .recv_cq = cq, .srq = shared ? srq : NULL};
	struct ibv_qp_init_attr init = {.qp_type = type,
					.sq_sig_all = 1,
					.cap = {.max_send_wr = DEPTH,
						.max_recv_wr = DEPTH,
						.max_send_sge = 2,
						.max_recv_sge = 2,
						.max_inline_data = 32}};
	check("create_qp", p->create_qp(&links, &init, &s->qp, &s->number));
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	mask |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	check("to INIT", p->modify_qp(s->qp, &attr, mask));
}

static struct ibv_ah_attr address(void)
{
	return (struct ibv_ah_attr){
		.dlid = lid,
		.port_num = 1,
		.is_global = 1,
		.grh = {.dgid = gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 8},
	};
}

static void go(enum ibv_qp_type type, struct side *s, uint32_t peer)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int mask = IBV_QP_STATE;
	if (type != IBV_QPT_UD) {
		attr.path_mtu = mtu;
		attr.dest_qp_num = peer;
		attr.ah_attr = address();
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (type == IBV_QPT_RC) {
		attr.max_dest_rd_atomic = 1;
		attr.min_rnr_timer = 1;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	check("to RTR", p->modify_qp(s->qp, &attr, mask));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 3, .rnr_retry = 1, .max_rd_atomic = 1};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	check("to RTS", p->modify_qp(s->qp, &attr, mask));
}

static void connect_sides(enum ibv_qp_type type, bool shared)
{
	setup(type, &a, false);
	setup(type, &b, shared);
	go(type, &a, b.number);
	go(type, &b, a.number);
}

static void drop_sides(void)
{
	struct ibv_wc wc;
	check("destroy_qp", p->destroy_qp(a.qp));
	check("destroy_qp", p->destroy_qp(b.qp));
	while (p->poll_cq(cq, 1, &wc) > 0)
		;
}

static void receive(struct side *s, uint64_t id, size_t at, uint32_t length)
{
	struct ibv_sge sge = {(uint64_t)s->memory + at, length, s->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
	check("post_recv", p->post_recv(s->qp, &wr, &bad));
}

/* From a's memory to b's, at the same offset; `wr` says what is special. */
static void request(struct ibv_send_wr wr, size_t at, uint32_t length)
{
	struct ibv_sge sge = {(uint64_t)a.memory + at, length, a.lkey};
	struct ibv_send_wr *bad;
	if (!wr.wr_id)
		wr.wr_id = 1;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	check("post_send", p->post_send(a.qp, &wr, &bad));
}

static void fill(void)
{
	for (unsigned i = 0; i < SIZE; i++) {
		a.memory[i] = (char)(i * 7 + 3);
		b.memory[i] = 0;
	}
}

static void same(size_t at, size_t length)
{
	printf("  bytes %s, the rest %s\n", memcmp(a.memory + at, b.memory + at, length) ? "differ" : "equal",
	       at + length < SIZE && b.memory[at + length] ? "written" : "untouched");
}

#define RDMA(op) \
	{ \
		.opcode = op, .wr.rdma = {.remote_addr = (uint64_t)b.memory, .rkey = b.rkey } \
	}

static void reliable(void)
{
	connect_sides(IBV_QPT_RC, false);
	fill();
	receive(&b, 2, 0, SIZE);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 100);
	expect("send", 2);
	same(0, 100);
	fill();
	receive(&b, 2, 0, SIZE);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_IMM,
				     .imm_data = htobe32(0x1234),
				     .send_flags = IBV_SEND_INLINE},
		0, 20);
	expect("send inline with immediate", 2);
	same(0, 20);
	fill();
	request((struct ibv_send_wr)RDMA(IBV_WR_RDMA_WRITE), 0, 3000);
	expect("write", 1);
	same(0, 3000);
	fill();
	receive(&b, 2, 0, 0);
	struct ibv_send_wr with_imm = RDMA(IBV_WR_RDMA_WRITE_WITH_IMM);
	with_imm.imm_data = htobe32(77);
	request(with_imm, 0, 64);
	expect("write with immediate", 2);
	same(0, 64);
	memset(b.memory, 'r', SIZE);
	request((struct ibv_send_wr)RDMA(IBV_WR_RDMA_READ), 0, 2000);
	expect("read", 1);
	same(0, 2000);
	*(uint64_t *)b.memory = 40;
	struct ibv_send_wr add = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .wr.atomic = {(uint64_t)b.memory, 2, 0, b.rkey}};
	request(add, 8, 8);
	expect("fetch and add", 1);
	printf("  was %lu, is %lu\n", *(unsigned long *)(a.memory + 8), *(unsigned long *)b.memory);
	struct ibv_send_wr swap = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				   .wr.atomic = {(uint64_t)b.memory, 42, 5, b.rkey}};
	request(swap, 8, 8);
	expect("compare and swap", 1);
	printf("  was %lu, is %lu\n", *(unsigned long *)(a.memory + 8), *(unsigned long *)b.memory);
	drop_sides();
}

/* Each ends its queue pair. */
static void errors(void)
{
	fill();
	connect_sides(IBV_QPT_RC, false);
	struct ibv_send_wr wrong = RDMA(IBV_WR_RDMA_WRITE);
	wrong.wr.rdma.rkey ^= 0x5500;
	request(wrong, 0, 64);
	expect("write with a wrong key", 1);
	same(0, 0);
	drop_sides();
	connect_sides(IBV_QPT_RC, false);
	struct ibv_send_wr beyond = RDMA(IBV_WR_RDMA_WRITE);
	beyond.wr.rdma.remote_addr += SIZE - 10;
	request(beyond, 0, 64);
	expect("write beyond the end", 1);
	printf("  the end is %s\n", b.memory[SIZE - 1] ? "written" : "untouched");
	request((struct ibv_send_wr)RDMA(IBV_WR_RDMA_WRITE), 0, 64);
	expect("and after it", 1);
	drop_sides();
	connect_sides(IBV_QPT_RC, false);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 100);
	expect("send that nobody receives", 1);
	drop_sides();
	connect_sides(IBV_QPT_RC, false);
	receive(&b, 2, 0, 10);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 100);
	/* soft-RoCE's codes are not those of the specification */
	printf("send that is too long: %s\n", next().status && next().status ? "two errors" : "taken");
	drop_sides();
}

static void others(void)
{
	connect_sides(IBV_QPT_UC, false);
	fill();
	receive(&b, 2, 0, SIZE);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 500);
	expect("UC send", 2);
	same(0, 500);
	drop_sides();
	connect_sides(IBV_QPT_UD, false);
	fill();
	struct ibv_ah_attr where = address();
	void *ah;
	check("create_ah", p->create_ah(pd, &where, &ah));
	receive(&b, 2, 0, SIZE);
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND, .wr.ud = {ah, b.number, QKEY}}, 40, 500);
	expect("UD send", 2);
	same(40, 500);
	check("destroy_ah", p->destroy_ah(ah));
	drop_sides();
	connect_sides(IBV_QPT_RC, true);
	fill();
	check("req_notify_cq", p->req_notify_cq(cq, 0));
	struct ibv_sge sge = {(uint64_t)b.memory, SIZE, b.lkey};
	struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad;
	check("post_srq_recv", p->post_srq_recv(srq, &wr, &bad));
	request((struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 200);
	void *told = NULL;
	double end = now() + PATIENCE_S;
	int rc;
	while ((rc = p->cq_event(channel, &told)) == -EAGAIN && now() < end) {
		struct pollfd one = {.fd = channel_fd, .events = POLLIN};
		poll(&one, 1, 10);
		p->progress();
	}
	check("cq_event", rc);
	printf("told of the queue: %s\n", told == cq ? "yes" : "no");
	expect("send to a shared queue", 2);
	same(0, 200);
	drop_sides();
}

static void region(struct side *s)
{
	unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC;
	check("reg_mr", p->reg_mr(pd, s->memory, SIZE, (uint64_t)s->memory, access, &s->mr, &s->lkey, &s->rkey));
}

int main(int argc, char **argv)
{
	static const struct verbs_above above = {.wrote = wrote, .arrived = arrived, .warn = warn};
	struct verbs_device device;
	struct ibv_port_attr port = {0};
	struct ibv_gid_entry entry;
	int async_fd, vectors, entries = 64;
	void *so = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	p = so ? dlsym(so, argv[2]) : NULL;
	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (argc > 3)
		gid_index = atoi(argv[3]);
	check("start", p->start(&above));
	printf("devices: %d\n", p->devices(&device, 1));
	check("open", p->open(0, &context, &async_fd, &vectors));
	check("query_port", p->query_port(context, 1, &port));
	printf("port: %s\n", ibv_port_state_str(port.state));
	check("query_gid", p->query_gid(context, 1, gid_index, &entry));
	gid = entry.gid;
	lid = port.lid;
	mtu = port.active_mtu;
	printf("no such gid: %s\n", p->query_gid(context, 1, 100000, &entry) < 0 ? "an error" : "there");
	check("alloc_pd", p->alloc_pd(context, &pd));
	check("create_channel", p->create_channel(context, &channel, &channel_fd));
	check("create_cq", p->create_cq(context, &entries, channel, 0, &cq));
	printf("entries: %s\n", entries >= 64 ? "enough" : "too few");
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = DEPTH, .max_sge = 2}};
	check("create_srq", p->create_srq(pd, &shared, &srq));
	region(&a);
	region(&b);
	printf("nothing has happened: %d %d\n", p->poll_cq(cq, 1, &(struct ibv_wc){0}),
	       p->cq_event(channel, &srq) == -EAGAIN);
	reliable();
	errors();
	others();
	printf("in use: %s\n", p->dealloc_pd(pd) == -EBUSY ? "kept" : "gone");
	check("dereg_mr", p->dereg_mr(a.mr));
	check("dereg_mr", p->dereg_mr(b.mr));
	check("destroy_srq", p->destroy_srq(srq));
	check("destroy_cq", p->destroy_cq(cq));
	check("destroy_channel", p->destroy_channel(channel));
	check("dealloc_pd", p->dealloc_pd(pd));
	check("close", p->close(context));
	p->stop();
	return 0;
}

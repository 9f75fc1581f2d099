/* Extended completion queues and queue pairs: completions read field by field, requests built one by one; what such a
 * device may lack is refused, and the program goes on without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include "verbs_pair.h"

static struct ibv_cq_ex *cq;
static struct ibv_qp_ex *qp;

static void lacks(const char *what, struct ibv_cq_init_attr_ex attr)
{
	errno = 0;
	attr.cqe = DEPTH;
	CHECK(!ibv_create_cq_ex(it.context, &attr));
	printf("%s: %s\n", what, strerror(errno));
}

/* As a program finds them that was built with a later rdma-core. */
static void newer(void)
{
	struct { /* struct ibv_mr_init_attr */
		size_t length;
		int access;
		uint64_t comp_mask, iova;
		void *addr;
		int fd;
		uint64_t fd_offset;
		void *dmah;
	} attr = {.length = 64, .access = IBV_ACCESS_LOCAL_WRITE, .comp_mask = 2, .addr = it.buffer};
	struct ibv_mr *(*reg)(struct ibv_pd *, void *) = dlvsym(RTLD_DEFAULT, "ibv_reg_mr_ex", "IBVERBS_1.15");
	void *(*alloc)(struct ibv_context *, void *) = dlvsym(RTLD_DEFAULT, "ibv_alloc_dmah", "IBVERBS_1.15");
	struct ibv_mr *mr;
	CHECK(reg && alloc && !alloc(it.context, NULL) && errno == EOPNOTSUPP);
	mr = reg(it.pd, &attr);
	CHECK(mr && mr->addr == it.buffer && mr->length == 64 && mr->lkey != it.mr->lkey);
	CHECK(!ibv_dereg_mr(mr));
	attr.comp_mask |= 4;
	CHECK(!reg(it.pd, &attr) && errno == EOPNOTSUPP);
	attr.comp_mask = 0;
	CHECK(!reg(it.pd, &attr) && errno == EINVAL);
}

static void make(void)
{
	const uint64_t flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM;
	struct ibv_cq_init_attr_ex attr = {.cqe = DEPTH, .wc_flags = flags};
	lacks("flow tags", (struct ibv_cq_init_attr_ex){.wc_flags = IBV_WC_EX_WITH_FLOW_TAG});
	lacks("VLANs", (struct ibv_cq_init_attr_ex){.wc_flags = IBV_WC_EX_WITH_CVLAN});
	lacks("overrun", (struct ibv_cq_init_attr_ex){.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
						      .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN});
	cq = ibv_create_cq_ex(it.context, &attr);
	CHECK(cq);
	it.cq = ibv_cq_ex_to_cq(cq);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = it.cq,
		.recv_cq = it.cq,
		.qp_type = IBV_QPT_RC,
		.pd = it.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		.cap = {.max_send_wr = 4,
			.max_recv_wr = DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = 32},
	};
	it.qp = ibv_create_qp_ex(it.context, &init);
	CHECK(it.qp);
	qp = ibv_qp_to_qp_ex(it.qp);
	CHECK(qp);
	to_init(it.qp);
	exchange();
	to_rts(it.qp, &it.peer);
}

/* The next one, whichever it is; another look finds none. */
static void expect(uint64_t id, enum ibv_wc_opcode opcode)
{
	struct ibv_poll_cq_attr attr = {0};
	int rc;
	while ((rc = ibv_start_poll(cq, &attr)) == ENOENT)
		;
	CHECK(!rc && cq->wr_id == id && cq->status == IBV_WC_SUCCESS && ibv_wc_read_opcode(cq) == opcode);
	CHECK(ibv_wc_read_qp_num(cq) == it.qp->qp_num);
	if (opcode == IBV_WC_RECV)
		printf("%u bytes with %u\n", ibv_wc_read_byte_len(cq), ntohl(ibv_wc_read_imm_data(cq)));
	ibv_end_poll(cq);
}

static void begin(uint64_t id)
{
	qp->wr_id = id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

static void client(void)
{
	char text[] = "inline";
	struct ibv_sge two[2] = {{(uint64_t)it.buffer, 8, it.mr->lkey}, {(uint64_t)it.buffer + 64, 4, it.mr->lkey}};
	memcpy(it.buffer, "from two", 8);
	memcpy(it.buffer + 64, " sge", 4);
	ibv_wr_start(qp);
	begin(1);
	ibv_wr_rdma_write(qp, it.peer.rkey, it.peer.addr + 100);
	ibv_wr_set_inline_data(qp, text, sizeof(text));
	memset(text, 0, sizeof(text)); /* it was copied */
	begin(2);
	ibv_wr_send_imm(qp, htonl(22));
	ibv_wr_set_sge_list(qp, 2, two);
	CHECK(!ibv_wr_complete(qp));
	expect(1, IBV_WC_RDMA_WRITE);
	expect(2, IBV_WC_SEND);
	/* given up, and more than it holds: nothing is posted */
	ibv_wr_start(qp);
	begin(3);
	ibv_wr_rdma_write(qp, it.peer.rkey, it.peer.addr + 100);
	ibv_wr_set_sge(qp, it.mr->lkey, (uint64_t)it.buffer, 8);
	ibv_wr_abort(qp);
	ibv_wr_start(qp);
	for (int i = 0; i < 5; i++) {
		begin(4);
		ibv_wr_rdma_write(qp, it.peer.rkey, it.peer.addr + 100);
		ibv_wr_set_sge(qp, it.mr->lkey, (uint64_t)it.buffer, 8);
	}
	printf("five of four: %s\n", strerror(ibv_wr_complete(qp)));
	ibv_wr_start(qp);
	begin(5);
	ibv_wr_atomic_fetch_add(qp, it.peer.rkey, it.peer.addr + 200, 5);
	ibv_wr_set_sge(qp, it.mr->lkey, (uint64_t)it.buffer + 200, 8);
	begin(6);
	ibv_wr_rdma_read(qp, it.peer.rkey, it.peer.addr + 100);
	ibv_wr_set_sge(qp, it.mr->lkey, (uint64_t)it.buffer + 300, 7);
	CHECK(!ibv_wr_complete(qp));
	expect(5, IBV_WC_FETCH_ADD);
	expect(6, IBV_WC_RDMA_READ);
	printf("%s, %d\n", it.buffer + 300, (int)*(uint64_t *)(it.buffer + 200));
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	meet_by_tcp(argv[1], argv[2]);
	open_device();
	newer();
	*(uint64_t *)(it.buffer + 200) = 37;
	make();
	if (it.server)
		post_recv(9, 0, 64);
	meet();
	if (!it.server)
		client();
	else
		expect(9, IBV_WC_RECV);
	meet();
	if (it.server)
		printf("%.12s, %s, %d\n", it.buffer, it.buffer + 100, (int)*(uint64_t *)(it.buffer + 200));
	part();
	return 0;
}

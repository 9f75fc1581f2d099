/* What goes wrong is said in the right words: wrong keys and lengths, calls out of order, flushed requests. */
#include "verbs_pair.h"

static void refusals(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp *qp = make_qp(IBV_QPT_RC);
	printf("RESET to RTS: %s\n", strerror(ibv_modify_qp(qp, &attr, IBV_QP_STATE)));
	printf("a PD in use: %s\n", strerror(ibv_dealloc_pd(it.pd)));
	struct ibv_sge sge = {(uint64_t)it.buffer, 8, it.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);
	printf("a send in RESET: %s, %s\n", rc ? "refused" : "taken", bad == &wr ? "the first" : "none");
	CHECK(!ibv_destroy_qp(qp));
	errno = 0;
	struct ibv_cq_init_attr_ex ex = {.cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG};
	printf("flow tags: %s\n", ibv_create_cq_ex(it.context, &ex) ? "there" : "not there");
	printf("a port that is not there: %s\n",
	       ibv_query_port(it.context, 9, &(struct ibv_port_attr){0}) ? "refused" : "found");
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	refusals();
	if (it.server) {
		post_recv(1, 0, 8);
		meet();
		/* the message is longer than the buffer */
		struct ibv_wc wc = complete();
		printf("receive: %s\n", ibv_wc_status_str(wc.status));
		meet();
	} else {
		meet();
		post(1, IBV_WR_SEND, 0, 100, 0);
		struct ibv_wc wc = complete();
		printf("send: %s\n", ibv_wc_status_str(wc.status));
		/* the queue pair is in the error state now */
		post(2, IBV_WR_SEND, 0, 8, 0);
		wc = complete();
		printf("after it: %s\n", ibv_wc_status_str(wc.status));
		struct ibv_qp_attr attr;
		struct ibv_qp_init_attr init;
		CHECK(!ibv_query_qp(it.qp, &attr, IBV_QP_STATE, &init));
		printf("state %d\n", (int)attr.qp_state);
		meet();
	}
	/* a second pair: no access with another key */
	CHECK(!ibv_destroy_qp(it.qp));
	it.qp = make_qp(IBV_QPT_RC);
	to_init(it.qp);
	exchange();
	to_rts(it.qp, &it.peer);
	meet();
	if (!it.server) {
		it.peer.rkey ^= 0xff00;
		post(3, IBV_WR_RDMA_WRITE, 0, 8, 0);
		printf("wrong key: %s\n", ibv_wc_status_str(complete().status));
	}
	part();
	return 0;
}

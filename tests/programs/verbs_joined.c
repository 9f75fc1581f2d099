/* A memory window that is bound, and a queue pair in a multicast group; a line after each step. */
#include "verbs_pair.h"

static void say(const char *line)
{
	CHECK(write(1, line, strlen(line)) == (ssize_t)strlen(line));
}

int main(void)
{
	union ibv_gid group = {.raw = {0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 1, 7}};
	struct ibv_wc wc;
	it.access |= IBV_ACCESS_MW_BIND;
	open_device();
	it.cq = ibv_create_cq(it.context, DEPTH, NULL, NULL, 0);
	CHECK(it.cq);
	struct ibv_qp *datagrams = make_qp(IBV_QPT_UD), *pair = make_qp(IBV_QPT_RC);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
	CHECK(!ibv_modify_qp(datagrams, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	say("begun\n");
	CHECK(!ibv_attach_mcast(datagrams, &group, 0));
	say("joined\n");
	CHECK(!ibv_detach_mcast(datagrams, &group, 0));
	say("left\n");
	to_init(pair);
	struct told self = {.qpn = pair->qp_num};
	CHECK(!ibv_query_gid(it.context, 1, 0, &self.gid));
	to_rts(pair, &self);
	struct ibv_mw *window = ibv_alloc_mw(it.pd, IBV_MW_TYPE_1);
	CHECK(window);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {.mr = it.mr,
						 .addr = (uint64_t)it.buffer,
						 .length = 64,
						 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
	CHECK(!ibv_bind_mw(pair, window, &bind));
	while (ibv_poll_cq(it.cq, 1, &wc) == 0)
		continue;
	CHECK(wc.status == IBV_WC_SUCCESS);
	say("bound\n");
	it.qp = pair;
	it.peer = (struct told){.addr = (uint64_t)it.buffer, .rkey = window->rkey};
	it.buffer[100] = 42;
	post(7, IBV_WR_RDMA_WRITE, 100, 1, 10);
	succeed(7);
	CHECK(it.buffer[10] == 42);
	const uint32_t first = window->rkey;
	CHECK(!ibv_bind_mw(pair, window, &bind));
	CHECK(complete().status == IBV_WC_SUCCESS && window->rkey != first);
	say("bound again\n");
	it.peer.rkey = window->rkey;
	it.buffer[100] = 43;
	post(8, IBV_WR_RDMA_WRITE, 100, 1, 10);
	succeed(8);
	CHECK(it.buffer[10] == 43);
	say("written\n");
	struct ibv_mw *second = ibv_alloc_mw(it.pd, IBV_MW_TYPE_2);
	CHECK(second);
	struct ibv_send_wr wr = {.wr_id = 9,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {.mw = second,
					     .rkey = ibv_inc_rkey(second->rkey),
					     .bind_info = bind.bind_info}},
			   *bad;
	CHECK(!ibv_post_send(pair, &wr, &bad));
	succeed(9);
	say("posted\n");
	CHECK(!ibv_dealloc_mw(second));
	CHECK(!ibv_dealloc_mw(window));
	say("freed\n");
	return 0;
}

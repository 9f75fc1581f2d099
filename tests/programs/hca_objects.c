/* Datagrams, UC, shared receive queues, completion queues and channels, windows, states.  "hca_objects SCENARIO". */
#include <sys/mman.h>
#include "hca_test.h"

static struct qp q;

static struct ibv_send_wr datagram(uint64_t id, struct ibv_sge *s, void *ah, uint32_t qkey)
{
	struct ibv_send_wr wr = request(id, IBV_WR_SEND_WITH_IMM, s);
	wr.imm_data = htobe32(77);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = q.peer.qpn;
	wr.wr.ud.remote_qkey = qkey;
	return wr;
}

static void *handle_of(struct ibv_ah_attr attr)
{
	void *ah;
	OK(hca->create_ah(pd, &attr, &ah));
	return ah;
}

static void datagrams(void)
{
	q = qp_make(IBV_QPT_UD);
	qp_connect(&q);
	void *ah = handle_of((struct ibv_ah_attr){.port_num = 1});
	if (me) {
		post_recv(&q, 1, buffer, 40 + 4096);
		post_recv(&q, 2, buffer + 8192, 40 + 4096);
	}
	barrier();
	if (!me) {
		fill(buffer, 4096, 1);
		struct ibv_sge s = piece(buffer, 4096);
		struct ibv_send_wr wr = datagram(1, &s, ah, 0x1234);
		struct ibv_send_wr foreign = datagram(2, &s, ah, 0x1235);
		post(&q, &foreign); /* another Q_Key: not heard */
		post(&q, &wr);
		s.length = 5;
		post(&q, &wr);
		s.length = 5;
		for (unsigned i = 0; i < 10; i++)
			post(&q, &wr); /* nobody waits for these */
		wait_wc(2, IBV_WC_SUCCESS);
		for (unsigned i = 0; i < 12; i++)
			wait_wc(1, IBV_WC_SUCCESS);
		s.length = 4097;
		wr = datagram(3, &s, ah, 0x1234);
		post(&q, &wr);
		wait_wc(3, IBV_WC_LOC_LEN_ERR);
		CHECK(qp_state(&q) == IBV_QPS_SQE);
		post(&q, &wr);
		wait_wc(3, IBV_WC_WR_FLUSH_ERR);
		OK(qp_to(&q, IBV_QPS_RTS));
	} else {
		struct ibv_wc wc = wait_wc(1, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == 40 + 4096 && wc.src_qp == q.peer.qpn && wc.imm_data == htobe32(77));
		CHECK(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM));
		check_filled(buffer + 40, 4096, 1);
		struct ibv_grh *grh = (struct ibv_grh *)buffer;
		CHECK(be32toh(grh->version_tclass_flow) >> 28 == 6 && be16toh(grh->paylen) == 4096);
		/* who sent it can be answered */
		struct ibv_ah_attr back = {.port_num = 1, .is_global = 1, .grh.dgid = grh->sgid};
		OK(hca->destroy_ah(handle_of(back)));
		CHECK(wait_wc(2, IBV_WC_SUCCESS).byte_len == 45);
	}
	barrier();
	no_wc();
	OK(hca->destroy_ah(ah));
}

static void datagrams_to_nobody(void)
{
	q = qp_make(IBV_QPT_UD);
	qp_connect(&q);
	q.peer.qpn = 901u << 14 | 5;
	void *ah = handle_of((struct ibv_ah_attr){.port_num = 1});
	struct ibv_sge s = piece(buffer, 100);
	struct ibv_send_wr wr = datagram(1, &s, ah, 0x1234);
	for (unsigned i = 0; i < 20; i++)
		post(&q, &wr);
	for (unsigned i = 0; i < 20; i++)
		wait_wc(1, IBV_WC_SUCCESS);
	barrier();
}

static void unreliable_connection(void)
{
	q = qp_make(IBV_QPT_UC);
	qp_connect(&q);
	if (me)
		post_recv(&q, 1, buffer + (4 << 20), 1 << 20);
	barrier();
	if (!me) {
		fill(buffer, 3 << 20, 8);
		post_send(&q, 1, buffer, 1 << 20);
		wait_wc(1, IBV_WC_SUCCESS);
		post_send(&q, 2, buffer, 1 << 20); /* lost: no receive */
		wait_wc(2, IBV_WC_SUCCESS);
		post_rdma(&q, 3, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey ^ 1); /* lost, too */
		wait_wc(3, IBV_WC_SUCCESS);
	} else {
		wait_wc(1, IBV_WC_SUCCESS);
		check_filled(buffer + (4 << 20), 1 << 20, 8);
	}
	barrier();
	if (me)
		post_recv(&q, 5, buffer, 1);
	barrier();
	if (!me) {
		post_rdma(&q, 5, IBV_WR_RDMA_WRITE_WITH_IMM, buffer, 3 << 20, peer_buffer, peer_rkey);
		memset(buffer, 0, BUFFER); /* it is not ours yet */
		wait_wc(5, IBV_WC_SUCCESS);
	} else {
		CHECK(wait_wc(5, IBV_WC_SUCCESS).byte_len == 3 << 20);
	}
	struct ibv_sge s = piece(buffer, 8);
	struct ibv_send_wr *bad, wr = request(6, IBV_WR_RDMA_READ, &s);
	CHECK(hca->post_send(q.handle, &wr, &bad) == -EINVAL);
	CHECK(qp_state(&q) == IBV_QPS_RTS);
	barrier();
}

static void shared_receives(void)
{
	struct ibv_srq_init_attr a = {.attr = {.max_wr = 64, .max_sge = 2}};
	struct ibv_srq_attr limit = {.srq_limit = 3};
	struct qp other;
	void *srq;
	OK(hca->create_srq(pd, &a, &srq));
	q = qp_make_on(IBV_QPT_RC, pd, cq, cq, srq, true);
	qp_connect(&q);
	other = qp_make_on(IBV_QPT_RC, pd, cq, cq, srq, true);
	qp_connect(&other);
	if (me) {
		for (unsigned i = 0; i < 4; i++) {
			struct ibv_sge s = piece(buffer + i * 8, 8);
			struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = &s, .num_sge = 1};
			OK(hca->post_srq_recv(srq, &wr, &bad));
			CHECK(hca->post_recv(q.handle, &wr, &bad) == -EINVAL);
		}
		OK(hca->modify_srq(srq, &limit, IBV_SRQ_LIMIT));
		limit.srq_limit = 65;
		CHECK(hca->modify_srq(srq, &limit, IBV_SRQ_LIMIT) == -EINVAL);
		OK(hca->query_srq(srq, &limit));
		CHECK(limit.srq_limit == 3 && limit.max_wr == 64 && limit.max_sge == 2);
	}
	barrier();
	if (!me) {
		for (unsigned i = 0; i < 4; i++) {
			post_send(i % 2 ? &other : &q, i, buffer, 8);
			wait_wc(i, IBV_WC_SUCCESS);
		}
	} else {
		for (unsigned i = 0; i < 4; i++)
			CHECK(wait_wc(i, IBV_WC_SUCCESS).qp_num == (i % 2 ? other.number : q.number));
		while (1) {
			int type, port;
			void *object;
			if (hca->async_event(context, &type, &object, &port))
				break;
			if (type == IBV_EVENT_SRQ_LIMIT_REACHED) {
				CHECK(object == srq);
				limit.srq_limit = 99;
			}
		}
		CHECK(limit.srq_limit == 99);
		OK(hca->query_srq(srq, &limit));
		CHECK(limit.srq_limit == 0);
		OK(qp_to(&q, IBV_QPS_ERR));
		CHECK(wait_async(IBV_EVENT_QP_LAST_WQE_REACHED) == q.handle);
		CHECK(hca->destroy_srq(srq) == -EBUSY);
	}
	barrier();
	OK(hca->destroy_qp(q.handle));
	OK(hca->destroy_qp(other.handle));
	OK(hca->destroy_srq(srq));
}

static int readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 0);
}

/* Who sleeps on a channel: woken by what the HCA's thread says, for solicited completions only if so asked. */
static void completion_channel(void)
{
	void *channel, *queue, *which;
	int fd, cqe = 16;
	OK(hca->create_channel(context, &channel, &fd));
	OK(hca->create_cq(context, &cqe, channel, 0, &queue));
	q = qp_make_on(IBV_QPT_RC, pd, cq, queue, NULL, true);
	qp_connect(&q);
	for (unsigned i = 0; i < 4; i++)
		post_recv(&q, i, buffer, 8);
	OK(hca->req_notify_cq(queue, 0));
	CHECK(hca->cq_event(channel, &which) == -EAGAIN && !readable(fd));
	barrier();
	if (!me) {
		double until = now_s() + DEADLINE_S;
		post_send(&q, 1, buffer, 8);
		wait_wc(1, IBV_WC_SUCCESS);
		barrier();
		struct ibv_sge s = piece(buffer, 8);
		struct ibv_send_wr wr = request(2, IBV_WR_SEND, &s);
		post(&q, &wr);
		wait_wc(2, IBV_WC_SUCCESS);
		barrier();
		wr.send_flags |= IBV_SEND_SOLICITED;
		post(&q, &wr);
		wait_wc(2, IBV_WC_SUCCESS);
		CHECK(now_s() < until);
	} else {
		unsigned before = arrivals;
		double until = now_s() + DEADLINE_S;
		while (!readable(fd)) { /* nobody asks: the thread tells */
			while (arrivals == before)
				CHECK(now_s() < until);
			before = arrivals;
			hca->progress();
		}
		OK(hca->cq_event(channel, &which));
		CHECK(which == queue && !readable(fd) && hca->cq_event(channel, &which) == -EAGAIN);
		CHECK(wait_wc_on(queue).wr_id == 0);
		OK(hca->req_notify_cq(queue, 1));
		barrier();
		CHECK(wait_wc_on(queue).wr_id == 1);
		CHECK(hca->cq_event(channel, &which) == -EAGAIN);
		barrier();
		while (hca->cq_event(channel, &which) == -EAGAIN)
			CHECK(now_s() < until);
		CHECK(wait_wc_on(queue).wr_id == 2);
	}
	barrier();
	CHECK(hca->destroy_channel(channel) == -EBUSY && hca->destroy_cq(queue) == -EBUSY);
	OK(hca->destroy_qp(q.handle));
	OK(hca->destroy_cq(queue));
	OK(hca->destroy_channel(channel));
}

static void completion_queue_overrun(void)
{
	int cqe = 2;
	void *queue;
	struct ibv_wc wc;
	OK(hca->create_cq(context, &cqe, NULL, 0, &queue));
	q = qp_make_on(IBV_QPT_RC, pd, cq, queue, NULL, true);
	qp_connect(&q);
	for (unsigned i = 0; i < 3; i++)
		post_recv(&q, i, buffer, 8);
	barrier();
	if (!me)
		for (unsigned i = 0; i < 3; i++)
			post_send(&q, i, buffer, 8);
	else {
		CHECK(wait_async(IBV_EVENT_CQ_ERR) == queue);
		CHECK(wait_async(IBV_EVENT_QP_FATAL) == q.handle);
		CHECK(hca->poll_cq(queue, 1, &wc) == -EIO);
	}
	barrier();
}

/* A list of datagrams of which the first fails, for a completion queue that has no room for the others. */
static void flushed_past_the_end(void)
{
	int cqe = 2;
	void *queue;
	OK(hca->create_cq(context, &cqe, NULL, 0, &queue));
	q = qp_make_on(IBV_QPT_UD, pd, queue, cq, NULL, true);
	qp_connect(&q);
	void *ah = handle_of((struct ibv_ah_attr){.port_num = 1});
	struct ibv_sge bad = {.addr = (uint64_t)buffer, .length = 8, .lkey = lkey ^ 1}, good = piece(buffer, 8);
	struct ibv_send_wr wr[5];
	for (unsigned i = 0; i < 5; i++) {
		wr[i] = datagram(i, i ? &good : &bad, ah, 0x1234);
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	post(&q, wr);
	CHECK(wait_async(IBV_EVENT_CQ_ERR) == queue);
	CHECK(wait_async(IBV_EVENT_QP_FATAL) == q.handle && qp_state(&q) == IBV_QPS_ERR);
	barrier();
}

/* Two queue pairs whose peer has gone.  The end of the first one overruns the completion queue of both. */
static void ends_together(void)
{
	int cqe = 1;
	void *queue;
	struct qp two[2];
	OK(hca->create_cq(context, &cqe, NULL, 0, &queue));
	for (unsigned i = 0; i < 2; i++) {
		two[i] = qp_make_on(IBV_QPT_RC, pd, queue, cq, NULL, true);
		qp_connect(&two[i]);
		post_rdma(&two[i], i, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		CHECK(wait_wc_on(queue).status == IBV_WC_SUCCESS);
	}
	barrier();
	if (me)
		_exit(0);
	for (unsigned i = 0; i < 4; i++)
		post_send(&two[i / 2], i, buffer, 8);
	CHECK(wait_async(IBV_EVENT_CQ_ERR) == queue);
	wait_async(IBV_EVENT_QP_FATAL);
	CHECK(qp_state(&two[0]) == IBV_QPS_ERR && qp_state(&two[1]) == IBV_QPS_ERR);
}

/* The region of a bind is deregistered before its turn has come, and another one takes its place in memory. */
static void bound_too_late(void)
{
	enum { OTHERS = 16 /* more than malloc keeps aside for its thread */ };
	void *mw, *region, *others[OTHERS];
	uint32_t local, key;
	const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	if (!me) {
		struct ibv_mw_bind bind = {.wr_id = 1,
					   .bind_info = {.addr = (uint64_t)buffer,
							 .length = 64,
							 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE},
					   .send_flags = IBV_SEND_SIGNALED};
		OK(hca->alloc_mw(pd, IBV_MW_TYPE_1, &mw, &key));
		for (unsigned i = 0; i < OTHERS; i++)
			OK(hca->reg_mr(pd, buffer, 4096, (uint64_t)buffer, access, &others[i], &local, &key));
		OK(hca->reg_mr(pd, buffer, 4096, (uint64_t)buffer, access, &region, &local, &key));
		OK(hca->bind_mw(q.handle, mw, region, &bind, &key)); /* its queue pair has no connection yet */
		for (unsigned i = 0; i < OTHERS; i++)
			OK(hca->dereg_mr(others[i]));
		OK(hca->dereg_mr(region));
		OK(hca->reg_mr(pd, buffer, 4096, (uint64_t)buffer, access, &region, &local, &key));
		wait_wc(1, IBV_WC_MW_BIND_ERR);
		OK(hca->dereg_mr(region));
		OK(hca->dealloc_mw(mw));
	}
	barrier();
}

static void resized(void)
{
	int cqe = 4;
	void *queue;
	OK(hca->create_cq(context, &cqe, NULL, 0, &queue));
	q = qp_make_on(IBV_QPT_RC, pd, queue, queue, NULL, true);
	qp_connect(&q);
	for (unsigned i = 0; i < 3; i++)
		post_recv(&q, i, buffer, 8);
	OK(qp_to(&q, IBV_QPS_ERR));
	cqe = 2;
	CHECK(hca->resize_cq(queue, &cqe) == -EINVAL);
	cqe = 100;
	OK(hca->resize_cq(queue, &cqe));
	for (unsigned i = 0; i < 3; i++)
		CHECK(wait_wc_on(queue).wr_id == i);
	barrier();
}

/* Writes through a window: within it, past it, and after it has gone. */
static void windows(enum ibv_mw_type type)
{
	void *mw;
	struct {
		uint32_t rkey;
	} mine = {0}, theirs;
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	if (me) {
		OK(hca->alloc_mw(pd, (int)type, &mw, &mine.rkey));
		struct ibv_mw_bind_info info = {.mr = mr,
						.addr = (uint64_t)buffer + 100,
						.length = 50,
						.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
		if (type == IBV_MW_TYPE_1) {
			struct ibv_mw_bind bind = {.wr_id = 1, .bind_info = info, .send_flags = IBV_SEND_SIGNALED};
			OK(hca->bind_mw(q.handle, mw, mr, &bind, &mine.rkey));
		} else {
			struct ibv_send_wr wr = {.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
			mine.rkey = (mine.rkey & ~0xffu) | ((mine.rkey + 1) & 0xff);
			wr.bind_mw.mw = mw;
			wr.bind_mw.rkey = mine.rkey;
			wr.bind_mw.bind_info = info;
			post(&q, &wr);
		}
		CHECK(wait_wc(1, IBV_WC_SUCCESS).opcode == IBV_WC_BIND_MW);
		CHECK(hca->dereg_mr(mr) == -EBUSY);
		post_recv(&q, 2, buffer, 8);
	}
	swap(&mine, &theirs, sizeof(mine));
	if (!me) {
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 50, peer_buffer + 100, theirs.rkey);
		wait_wc(1, IBV_WC_SUCCESS);
		if (type == IBV_MW_TYPE_2) {
			struct ibv_sge s = piece(buffer, 8);
			struct ibv_send_wr wr = request(2, IBV_WR_SEND_WITH_INV, &s);
			wr.invalidate_rkey = theirs.rkey;
			post(&q, &wr);
			wait_wc(2, IBV_WC_SUCCESS);
			post_rdma(&q, 3, IBV_WR_RDMA_WRITE, buffer, 50, peer_buffer + 100, theirs.rkey);
		} else {
			post_rdma(&q, 3, IBV_WR_RDMA_WRITE, buffer, 51, peer_buffer + 100, theirs.rkey);
		}
		wait_wc(3, IBV_WC_REM_ACCESS_ERR);
	} else {
		if (type == IBV_MW_TYPE_2) {
			struct ibv_wc wc = wait_wc(2, IBV_WC_SUCCESS);
			CHECK(wc.wc_flags == IBV_WC_WITH_INV && wc.invalidated_rkey == mine.rkey);
		}
		wait_async(IBV_EVENT_QP_ACCESS_ERR);
		CHECK(written == 50 + (type == IBV_MW_TYPE_2 ? 8 : 0));
	}
	barrier();
}

static void windows_1(void)
{
	windows(IBV_MW_TYPE_1);
}

static void windows_2(void)
{
	windows(IBV_MW_TYPE_2);
}

/* A queue pair in each state: which states may follow. */
static void put_into(struct qp *p, enum ibv_qp_state state)
{
	OK(qp_to(p, IBV_QPS_RESET));
	if (state == IBV_QPS_RESET)
		return;
	qp_init(p);
	if (state == IBV_QPS_INIT)
		return;
	if (state == IBV_QPS_ERR) {
		OK(qp_to(p, IBV_QPS_ERR));
		return;
	}
	qp_rtr(p);
	if (state == IBV_QPS_RTR)
		return;
	qp_rts(p);
	if (state == IBV_QPS_SQD)
		OK(qp_to(p, IBV_QPS_SQD));
}

static int try_to(struct qp *p, enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = qp_attr(p);
	int mask = IBV_QP_STATE;
	a.qp_state = to;
	a.port_num = 1;
	a.qkey = 1;
	if (to == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (p->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (to == IBV_QPS_RTR)
		mask = qp_rtr_mask(p);
	if (to == IBV_QPS_RTS && from != IBV_QPS_RTS && from != IBV_QPS_SQD)
		mask = qp_rts_mask(p);
	return hca->modify_qp(p->handle, &a, mask);
}

static void states(void)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	static const enum ibv_qp_state all[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
	static const char *const legal[] = {/* to RESET, INIT, RTR, RTS, SQD, ERR */
					    "110001", "111001", "100101", "100111", "100111", "100001"};
	for (unsigned t = 0; t < 3; t++) {
		struct qp p = qp_make(types[t]);
		p.peer.qpn = p.number;
		for (unsigned from = 0; from < 6; from++)
			for (unsigned to = 0; to < 6; to++) {
				put_into(&p, all[from]);
				CHECK(qp_state(&p) == all[from]);
				int rc = try_to(&p, all[from], all[to]);
				if ((rc == 0) != (legal[from][to] == '1') || (rc && rc != -EINVAL)) {
					fprintf(stderr, "type %d, %d to %d: %d\n", types[t], all[from], all[to], rc);
					_exit(1);
				}
				CHECK(qp_state(&p) == (rc ? all[from] : all[to]));
			}
		OK(hca->destroy_qp(p.handle));
	}
}

/* Each attribute that a transition asks for, left out; and one that it does not take. */
static void attributes(void)
{
	struct qp p = qp_make(IBV_QPT_RC);
	struct ibv_qp_attr a = qp_attr(&p);
	p.peer.qpn = p.number;
	for (int bit = 1; bit < 1 << 21; bit <<= 1) {
		put_into(&p, IBV_QPS_INIT);
		a = qp_attr(&p);
		a.qp_state = IBV_QPS_RTR;
		if (bit != IBV_QP_STATE && (qp_rtr_mask(&p) & bit))
			CHECK(hca->modify_qp(p.handle, &a, qp_rtr_mask(&p) & ~bit) == -EINVAL);
		if (bit & (IBV_QP_QKEY | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_PORT | IBV_QP_RNR_RETRY))
			CHECK(hca->modify_qp(p.handle, &a, qp_rtr_mask(&p) | bit) == -EINVAL);
	}
	a.path_mtu = 9;
	CHECK(hca->modify_qp(p.handle, &a, qp_rtr_mask(&p)) == -EINVAL);
	a = qp_attr(&p);
	a.qp_state = IBV_QPS_RTR;
	a.ah_attr.is_global = 1; /* ::, nobody's GID */
	CHECK(hca->modify_qp(p.handle, &a, qp_rtr_mask(&p)) == -EINVAL);
	CHECK(qp_state(&p) == IBV_QPS_INIT);
	struct ibv_sge s = piece(buffer, 8);
	struct ibv_send_wr *bad, wr = request(1, IBV_WR_SEND, &s);
	CHECK(hca->post_send(p.handle, &wr, &bad) == -EINVAL && bad == &wr);
	OK(qp_to(&p, IBV_QPS_RESET));
	struct ibv_recv_wr *bad_recv, recv = {.sg_list = &s, .num_sge = 1};
	CHECK(hca->post_recv(p.handle, &recv, &bad_recv) == -EINVAL && bad_recv == &recv);
}

/* SQD: what was begun ends, the rest waits; the event says when. */
static void drained(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	if (!me) {
		for (unsigned i = 0; i < 20; i++)
			post_rdma(&q, i, IBV_WR_RDMA_WRITE, buffer, 1 << 20, peer_buffer, peer_rkey);
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
		OK(hca->modify_qp(q.handle, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
		unsigned done = 0;
		CHECK(wait_async(IBV_EVENT_SQ_DRAINED) == q.handle);
		struct ibv_wc wc;
		while (hca->poll_cq(cq, 1, &wc) == 1)
			CHECK(wc.wr_id == done++ && wc.status == IBV_WC_SUCCESS);
		CHECK(done < 20);
		post_rdma(&q, 20, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		no_wc();
		OK(qp_to(&q, IBV_QPS_RTS));
		while (done <= 20)
			wait_wc(done++, IBV_WC_SUCCESS);
	}
	barrier();
}

static void full_queues(void)
{
	struct ibv_sge s = piece(buffer, 8);
	struct ibv_recv_wr *bad_recv, recv = {.sg_list = &s, .num_sge = 1};
	struct ibv_send_wr *bad, wr = request(1, IBV_WR_SEND, &s);
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
	if (!me) {
		for (unsigned i = 0; i < DEPTH; i++)
			post(&q, &wr);
		CHECK(hca->post_send(q.handle, &wr, &bad) == -ENOMEM);
		wr.num_sge = 5;
		CHECK(hca->post_send(q.handle, &wr, &bad) == -EINVAL);
	}
	barrier();
	if (me) {
		for (unsigned i = 0; i < DEPTH; i++)
			post_recv(&q, 1, buffer, 8);
		CHECK(hca->post_recv(q.handle, &recv, &bad_recv) == -ENOMEM);
		recv.num_sge = 5;
		CHECK(hca->post_recv(q.handle, &recv, &bad_recv) == -EINVAL);
	}
	for (unsigned i = 0; i < DEPTH; i++)
		wait_wc(1, IBV_WC_SUCCESS);
	barrier();
}

static void regions(void)
{
	void *m;
	uint32_t l, r;
	uint8_t *hole = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(hca->reg_mr(pd, buffer, 8, 0, IBV_ACCESS_REMOTE_WRITE, &m, &l, &r) == -EINVAL);
	CHECK(hca->reg_mr(pd, NULL, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE, &m, &l, &r) == -EINVAL);
	OK(hca->reg_mr(pd, NULL, SIZE_MAX, 0, IBV_ACCESS_ON_DEMAND, &m, &l, &r)); /* the whole address space */
	OK(hca->dereg_mr(m));
	CHECK(hca->reg_mr(pd, NULL, 4096, 0, IBV_ACCESS_LOCAL_WRITE, &m, &l, &r) == -EFAULT);
	OK(mprotect(hole + 4096, 4096, PROT_READ));
	CHECK(hca->reg_mr(pd, hole, 12288, 0, IBV_ACCESS_LOCAL_WRITE, &m, &l, &r) == -EFAULT);
	OK(hca->reg_mr(pd, hole, 12288, 0, IBV_ACCESS_REMOTE_READ, &m, &l, &r));
	OK(hca->dereg_mr(m));
	munmap(hole + 4096, 4096);
	CHECK(hca->reg_mr(pd, hole, 12288, 0, 0, &m, &l, &r) == -EFAULT);
	OK(hca->reg_mr(pd, hole, 4096, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, &m, &l, &r));
	uint32_t old = l;
	OK(hca->rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			 &l, &r));
	CHECK(l == old);
	CHECK(hca->rereg_mr(m, 0, NULL, NULL, 0, 0, &l, &r) == -EINVAL);
	CHECK(hca->dealloc_pd(pd) == -EBUSY);
	OK(hca->dereg_mr(m));
	CHECK(hca->close(context) == -EBUSY);
}

/* Many queue pairs on one connection, all busy at once. */
static void many_queue_pairs(void)
{
	enum { N = 100 };
	static struct qp all[N];
	for (unsigned i = 0; i < N; i++) {
		all[i] = qp_make(IBV_QPT_RC);
		qp_swap(&all[i]);
		qp_init(&all[i]), qp_rtr(&all[i]), qp_rts(&all[i]);
		post_recv(&all[i], i, buffer + i * 20000, 20000);
	}
	fill(buffer + (4 << 20), 20000, 3);
	barrier();
	for (unsigned i = 0; i < N; i++)
		post_send(&all[i], 1000 + i, buffer + (4 << 20), 20000);
	for (unsigned i = 0; i < 2 * N; i++)
		CHECK(wait_wc_on(cq).status == IBV_WC_SUCCESS);
	for (unsigned i = 0; i < N; i++)
		check_filled(buffer + i * 20000, 20000, 3);
	barrier();
	for (unsigned i = 0; i < N; i++)
		OK(hca->destroy_qp(all[i].handle));
}

static void device(void)
{
	struct verbs_device list[2];
	struct ibv_device_attr_ex a;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid[2];
	__be16 pkey;
	CHECK(hca->devices(list, 2) == 1 && !strcmp(list[0].name, "rdb0"));
	OK(hca->query_device(context, &a, sizeof(a)));
	OK(hca->query_port(context, 1, &port));
	CHECK(hca->query_port(context, 2, &port) == -EINVAL);
	CHECK(a.phys_port_cnt_ex == 1 && port.state == IBV_PORT_ACTIVE && port.gid_tbl_len >= 2);
	for (int i = 0; i < 2; i++) {
		OK(hca->query_gid(context, 1, i, &gid[i]));
		struct ibv_ah_attr to = {
			.port_num = 1, .is_global = 1, .grh = {.dgid = gid[i].gid, .sgid_index = (uint8_t)i}};
		OK(hca->destroy_ah(handle_of(to)));
	}
	CHECK(memcmp(&gid[0].gid, &gid[1].gid, 16));
	CHECK(hca->query_gid(context, 1, port.gid_tbl_len, &gid[0]) == -EINVAL);
	OK(hca->query_pkey(context, 1, 0, &pkey));
	CHECK(pkey == 0xffff);
	struct ibv_ah_attr nowhere = {.port_num = 1, .is_global = 1};
	void *ah;
	CHECK(hca->create_ah(pd, &nowhere, &ah) == -EINVAL);
}

static const struct scenario all[] = {
	{"datagrams", datagrams},
	{"datagrams_to_nobody", datagrams_to_nobody},
	{"unreliable_connection", unreliable_connection},
	{"shared_receives", shared_receives},
	{"completion_channel", completion_channel},
	{"completion_queue_overrun", completion_queue_overrun},
	{"flushed_past_the_end", flushed_past_the_end},
	{"ends_together", ends_together},
	{"bound_too_late", bound_too_late},
	{"resized", resized},
	{"windows_1", windows_1},
	{"windows_2", windows_2},
	{"states", states},
	{"attributes", attributes},
	{"drained", drained},
	{"full_queues", full_queues},
	{"regions", regions},
	{"many_queue_pairs", many_queue_pairs},
	{"device", device},
};

int main(int argc, char **argv)
{
	return run_scenario(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}

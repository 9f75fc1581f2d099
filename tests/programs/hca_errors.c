/* What goes wrong: the right status on both sides, and the states that follow.  "hca_errors SCENARIO". */
#include <sys/mman.h>
#include "hca_test.h"

static struct qp q;

static void connected(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
}

static void is_dead(void)
{
	CHECK(qp_state(&q) == IBV_QPS_ERR);
	/* what is posted now is flushed, in order */
	post_recv(&q, 91, buffer, 8);
	wait_wc(91, IBV_WC_WR_FLUSH_ERR);
	post_send(&q, 92, buffer, 8);
	wait_wc(92, IBV_WC_WR_FLUSH_ERR);
	no_wc();
}

/* Side 0 sends a request that side 1 refuses.  Nothing of `watched` may change. */
static void refused(enum ibv_wr_opcode op, uint8_t *remote, size_t len, uint32_t key, enum ibv_wc_status status)
{
	if (!me) {
		post_rdma(&q, 1, op, buffer, len, remote, key);
		post_send(&q, 2, buffer, 8);
		wait_wc(1, status);
		wait_wc(2, IBV_WC_WR_FLUSH_ERR);
		is_dead();
	} else {
		wait_async(status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
		is_dead();
		CHECK(written == 0);
	}
	barrier();
}

static void write_bad_key(void)
{
	connected();
	refused(IBV_WR_RDMA_WRITE, peer_buffer, 8, peer_rkey ^ 1, IBV_WC_REM_ACCESS_ERR);
}

static void write_past_the_end(void)
{
	connected();
	refused(IBV_WR_RDMA_WRITE, peer_buffer + BUFFER - 7, 8, peer_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void write_before_the_start(void)
{
	connected();
	refused(IBV_WR_RDMA_WRITE, peer_buffer - 1, 8, peer_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void write_around_the_end_of_addresses(void)
{
	connected();
	refused(IBV_WR_RDMA_WRITE, (uint8_t *)-4, 8, peer_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void read_past_the_end(void)
{
	connected();
	refused(IBV_WR_RDMA_READ, peer_buffer + BUFFER - 7, 8, peer_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void to_the_last_byte(void)
{
	connected();
	if (!me) {
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer + BUFFER - 8, peer_rkey);
		wait_wc(1, IBV_WC_SUCCESS);
		post_rdma(&q, 1, IBV_WR_RDMA_READ, buffer, 8, peer_buffer + BUFFER - 8, peer_rkey);
		wait_wc(1, IBV_WC_SUCCESS);
		/* no bytes: no key is asked for */
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 0, NULL, 0);
		wait_wc(1, IBV_WC_SUCCESS);
	}
	barrier();
}

/* A region of the peer's with fewer rights, or of another PD; the key travels to side 0. */
static void of_region(unsigned access, void *the_pd, enum ibv_wr_opcode op)
{
	void *region = NULL;
	uint32_t local = 0, key = 0, theirs;
	if (me)
		OK(hca->reg_mr(the_pd, buffer, 4096, (uint64_t)buffer, access, &region, &local, &key));
	swap(&key, &theirs, sizeof(key));
	refused(op, peer_buffer, 8, theirs, IBV_WC_REM_ACCESS_ERR);
}

static void write_to_read_only(void)
{
	connected();
	of_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, pd, IBV_WR_RDMA_WRITE);
}

static void read_of_write_only(void)
{
	connected();
	of_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, pd, IBV_WR_RDMA_READ);
}

static void other_pd(void)
{
	void *second;
	connected();
	OK(hca->alloc_pd(context, &second));
	of_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, second, IBV_WR_RDMA_WRITE);
}

static void queue_pair_without_right(void)
{
	q = qp_make(IBV_QPT_RC);
	q.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	qp_connect(&q);
	refused(IBV_WR_RDMA_WRITE, peer_buffer, 8, peer_rkey, IBV_WC_REM_ACCESS_ERR);
}

static void deregistered(void)
{
	uint32_t key, theirs, local;
	void *region;
	connected();
	OK(hca->reg_mr(pd, buffer, 4096, (uint64_t)buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &region,
		       &local, &key));
	OK(hca->dereg_mr(region));
	swap(&key, &theirs, sizeof(key));
	refused(IBV_WR_RDMA_WRITE, peer_buffer, 8, theirs, IBV_WC_REM_ACCESS_ERR);
}

static void atomic_unaligned(void)
{
	connected();
	refused(IBV_WR_ATOMIC_FETCH_AND_ADD, peer_buffer + 4, 8, peer_rkey, IBV_WC_REM_INV_REQ_ERR);
}

static void too_many_reads(void)
{
	q = qp_make(IBV_QPT_RC);
	q.max_dest_reads = 0;
	qp_connect(&q);
	refused(IBV_WR_RDMA_READ, peer_buffer, 8, peer_rkey, IBV_WC_REM_INV_REQ_ERR);
}

static void message_too_long(void)
{
	connected();
	if (me) {
		post_recv(&q, 1, buffer, 99);
		post_recv(&q, 2, buffer, 99);
	}
	barrier();
	if (!me) {
		post_send(&q, 1, buffer, 100);
		wait_wc(1, IBV_WC_REM_INV_REQ_ERR);
	} else {
		wait_wc(1, IBV_WC_LOC_LEN_ERR);
		wait_wc(2, IBV_WC_WR_FLUSH_ERR);
		CHECK(written == 0);
	}
	is_dead();
	barrier();
}

static void receive_with_bad_key(void)
{
	connected();
	if (me) {
		struct ibv_sge s = {.addr = (uint64_t)buffer, .length = 8, .lkey = lkey ^ 1};
		struct ibv_recv_wr *bad, wr = {.wr_id = 1, .sg_list = &s, .num_sge = 1};
		OK(hca->post_recv(q.handle, &wr, &bad));
	}
	barrier();
	if (!me) {
		post_send(&q, 1, buffer, 8);
		wait_wc(1, IBV_WC_REM_OP_ERR);
	} else {
		wait_wc(1, IBV_WC_LOC_PROT_ERR);
	}
	is_dead();
	barrier();
}

static void send_with_bad_key(void)
{
	connected();
	if (!me) {
		struct ibv_sge s = {.addr = (uint64_t)buffer + BUFFER - 7, .length = 8, .lkey = lkey};
		struct ibv_send_wr wr = request(2, IBV_WR_SEND, &s);
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		post(&q, &wr);
		wait_wc(1, IBV_WC_SUCCESS); /* those before it are not hurt */
		wait_wc(2, IBV_WC_LOC_PROT_ERR);
		is_dead();
	}
	barrier();
	CHECK(me == 0 || qp_state(&q) == IBV_QPS_RTS);
}

static void message_above_two_gigabytes(void)
{
	connected();
	if (!me) {
		struct ibv_sge s[2] = {piece(buffer, 0x80000000), piece(buffer, 1)};
		struct ibv_send_wr wr = request(1, IBV_WR_SEND, s);
		wr.num_sge = 2;
		post(&q, &wr);
		wait_wc(1, IBV_WC_LOC_LEN_ERR);
		is_dead();
	}
	barrier();
}

static void not_ready_too_often(void)
{
	q = qp_make(IBV_QPT_RC);
	q.rnr_retry = 2;
	qp_connect(&q);
	if (!me) {
		post_send(&q, 1, buffer, 8);
		post_send(&q, 2, buffer, 8);
		wait_wc(1, IBV_WC_RNR_RETRY_EXC_ERR);
		wait_wc(2, IBV_WC_WR_FLUSH_ERR);
		is_dead();
	}
	barrier();
}

/* The peer is not in RTR yet: as often as retry_cnt says, and then no more.  All in all for 8 s: the peer may be slow. */
static void peer_late(void)
{
	q = qp_make(IBV_QPT_RC);
	q.timeout = 18;
	q.retry_cnt = 7;
	qp_swap(&q);
	qp_init(&q);
	if (!me) {
		qp_rtr(&q), qp_rts(&q);
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
	}
	barrier();
	double until = now_s() + 0.1;
	while (now_s() < until)
		no_wc();
	if (me)
		qp_rtr(&q), qp_rts(&q);
	if (!me)
		wait_wc(1, IBV_WC_SUCCESS);
	else
		CHECK(qp_state(&q) == IBV_QPS_RTS);
	barrier();
}

static void no_such_queue_pair(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_swap(&q);
	q.peer.qpn = (q.peer.qpn & ~0x3fffu) | (q.peer.qpn & 0x3fff ? 0 : 1);
	qp_init(&q), qp_rtr(&q), qp_rts(&q);
	post_send(&q, 1, buffer, 8);
	wait_wc(1, IBV_WC_RETRY_EXC_ERR);
	is_dead();
	barrier();
}

static void no_such_process(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_swap(&q);
	q.peer.qpn = 900u << 14 | 77;
	qp_init(&q), qp_rtr(&q), qp_rts(&q);
	post_send(&q, 1, buffer, 8);
	wait_wc(1, IBV_WC_RETRY_EXC_ERR);
	is_dead();
	barrier();
}

static void wrong_psn(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_swap(&q);
	qp_init(&q);
	struct ibv_qp_attr a = qp_attr(&q);
	a.qp_state = IBV_QPS_RTR;
	a.rq_psn += 1;
	OK(hca->modify_qp(q.handle, &a, qp_rtr_mask(&q)));
	qp_rts(&q);
	barrier();
	if (!me) {
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 8, peer_buffer, peer_rkey);
		wait_wc(1, IBV_WC_RETRY_EXC_ERR);
	}
	barrier();
	CHECK(written == 0);
}

/* The peer is killed in the middle of it all. */
static void peer_dies(void)
{
	connected();
	barrier();
	if (me) {
		double until = now_s() + DEADLINE_S;
		while (written < 100000 && now_s() < until)
			hca->progress();
		_exit(0);
	}
	for (unsigned i = 0; i < 100; i++)
		post_rdma(&q, i, IBV_WR_RDMA_WRITE, buffer, 4 << 20, peer_buffer, peer_rkey);
	unsigned done = 0;
	struct ibv_wc wc;
	while ((wc = wait_wc_on(cq)).status == IBV_WC_SUCCESS)
		CHECK(wc.wr_id == done++);
	CHECK(wc.status == IBV_WC_RETRY_EXC_ERR && wc.wr_id == done++);
	while (done < 100)
		wait_wc(done++, IBV_WC_WR_FLUSH_ERR);
	is_dead();
}

/* What is posted is flushed when the program says ERR, and nothing is when it says RESET. */
static void told_to_fail(void)
{
	connected();
	for (unsigned i = 0; i < 3; i++)
		post_recv(&q, i, buffer, 8);
	OK(qp_to(&q, IBV_QPS_ERR));
	for (unsigned i = 0; i < 3; i++)
		wait_wc(i, IBV_WC_WR_FLUSH_ERR);
	is_dead();
	OK(qp_to(&q, IBV_QPS_RESET));
	barrier();
	/* and once more from the start */
	qp_connect(&q);
	post_recv(&q, 1, buffer, 8);
	barrier();
	post_send(&q, 2, buffer, 8);
	CHECK(wait_wc_on(cq).status == IBV_WC_SUCCESS && wait_wc_on(cq).status == IBV_WC_SUCCESS);
	barrier();
}

/* The region goes while data is on its way into it; and the one that is being sent, too. */
static void region_goes(void)
{
	void *region;
	uint32_t local, key, theirs;
	connected();
	uint8_t *memory = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(hca->reg_mr(pd, memory, 64 << 20, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &region, &local,
		       &key));
	swap(&key, &theirs, sizeof(key));
	if (!me) {
		struct ibv_sge s = {.addr = 0, .length = 64 << 20, .lkey = local};
		struct ibv_send_wr wr = request(1, IBV_WR_RDMA_WRITE, &s);
		wr.wr.rdma.rkey = theirs;
		post(&q, &wr);
		wait_wc(1, IBV_WC_REM_ACCESS_ERR);
		OK(hca->dereg_mr(region));
	} else {
		double until = now_s() + DEADLINE_S;
		while (!written && now_s() < until)
			hca->progress();
		CHECK(written && written < 64 << 20);
		OK(hca->dereg_mr(region));
		munmap(memory, 64 << 20);
		uint64_t before = written;
		wait_async(IBV_EVENT_QP_ACCESS_ERR);
		CHECK(written == before);
	}
	barrier();
}

/* Memory that its owner has unmapped while it is registered: an error of the request, whoever comes upon it. */
static void unmapped(void)
{
	enum { SEND, LONG_SEND, RECEIVE, WRITE, READ, ATOMIC, KINDS };
	const size_t room = 64 << 10;
	for (int kind = 0; kind < KINDS; kind++) {
		struct address mine = {0}, theirs;
		uint32_t local;
		void *region;
		connected();
		mine.buffer = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(mine.buffer != MAP_FAILED);
		OK(hca->reg_mr(pd, mine.buffer, room, (uint64_t)mine.buffer,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC,
			       &region, &local, &mine.rkey));
		struct ibv_sge s = {.addr = (uint64_t)mine.buffer, .length = 64, .lkey = local};
		struct ibv_recv_wr recv = {.wr_id = 5, .sg_list = &s, .num_sge = 1}, *bad;
		CHECK(mmap(mine.buffer, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      mine.buffer);
		if (me && kind == RECEIVE)
			OK(hca->post_recv(q.handle, &recv, &bad));
		swap(&mine, &theirs, sizeof(mine));
		if (kind == SEND || kind == LONG_SEND) {
			struct ibv_send_wr wr = request(1, IBV_WR_SEND, &s);
			s.length = kind == SEND ? 64 : 20000;
			if (!me) {
				post(&q, &wr);
				wait_wc(1, IBV_WC_LOC_PROT_ERR);
			}
		} else if (!me) {
			if (kind == RECEIVE)
				post_send(&q, 1, buffer, 64);
			else
				post_rdma(&q, 1,
					  kind == WRITE  ? IBV_WR_RDMA_WRITE
					  : kind == READ ? IBV_WR_RDMA_READ
							 : IBV_WR_ATOMIC_FETCH_AND_ADD,
					  buffer, kind == ATOMIC ? 8 : 64, theirs.buffer, theirs.rkey);
			wait_wc(1, kind == RECEIVE ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR);
		} else if (kind == RECEIVE) {
			wait_wc(5, IBV_WC_LOC_PROT_ERR);
		}
		barrier();
		OK(hca->destroy_qp(q.handle));
		OK(hca->dereg_mr(region));
		munmap(mine.buffer, room);
	}
}

/* What the peer has got is acknowledged: hardware knows that before a message tells that the peer has left. */
static void told_to_fail_when_all_is_there(void)
{
	char byte = 1;
	for (unsigned i = 0; i < 20; i++) {
		connected();
		if (me) {
			post_recv(&q, 0, buffer, 64);
			post_recv(&q, 1, buffer, 64);
		}
		barrier();
		if (me) {
			wait_wc(0, IBV_WC_SUCCESS);
			wait_wc(1, IBV_WC_SUCCESS);
			OK(qp_to(&q, IBV_QPS_ERR)); /* as rdma_disconnect(3) does */
			CHECK(write(line_fd, &byte, 1) == 1);
		} else {
			post_send(&q, 1, buffer, 64);
			wait_wc(1, IBV_WC_SUCCESS); /* the way is there */
			post_send(&q, 2, buffer, 64);
			CHECK(read(line_fd, &byte, 1) == 1);
			OK(qp_to(&q, IBV_QPS_ERR));
			wait_wc(2, IBV_WC_SUCCESS);
		}
		barrier();
		OK(hca->destroy_qp(q.handle));
	}
}

static const struct scenario all[] = {
	{"unmapped", unmapped},
	{"write_bad_key", write_bad_key},
	{"write_past_the_end", write_past_the_end},
	{"write_before_the_start", write_before_the_start},
	{"write_around_the_end_of_addresses", write_around_the_end_of_addresses},
	{"read_past_the_end", read_past_the_end},
	{"to_the_last_byte", to_the_last_byte},
	{"write_to_read_only", write_to_read_only},
	{"read_of_write_only", read_of_write_only},
	{"other_pd", other_pd},
	{"queue_pair_without_right", queue_pair_without_right},
	{"deregistered", deregistered},
	{"atomic_unaligned", atomic_unaligned},
	{"too_many_reads", too_many_reads},
	{"message_too_long", message_too_long},
	{"receive_with_bad_key", receive_with_bad_key},
	{"send_with_bad_key", send_with_bad_key},
	{"message_above_two_gigabytes", message_above_two_gigabytes},
	{"not_ready_too_often", not_ready_too_often},
	{"peer_late", peer_late},
	{"no_such_queue_pair", no_such_queue_pair},
	{"no_such_process", no_such_process},
	{"wrong_psn", wrong_psn},
	{"peer_dies", peer_dies},
	{"told_to_fail", told_to_fail},
	{"told_to_fail_when_all_is_there", told_to_fail_when_all_is_there},
	{"region_goes", region_goes},
};

int main(int argc, char **argv)
{
	return run_scenario(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}

/* Reliable connections: each operation between two processes.  "hca_rc SCENARIO". */
#include "hca_test.h"

static struct qp q;

static void connected(void)
{
	q = qp_make(IBV_QPT_RC);
	qp_connect(&q);
}

/* Side 0 sends messages of many lengths, side 1 receives them. */
static void send_recv(void)
{
	static const size_t lengths[] = {0, 1, 8, 4096, 8192, 8193, 65536, 262144, 262145, 1000003, 4 << 20};
	connected();
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		if (me) {
			uint64_t before = written;
			memset(buffer, 0xee, BUFFER);
			post_recv(&q, i, buffer, 4 << 20);
			barrier();
			struct ibv_wc wc = wait_wc(i, IBV_WC_SUCCESS);
			CHECK(wc.opcode == IBV_WC_RECV && wc.byte_len == lengths[i] && wc.qp_num == q.number &&
			      !wc.wc_flags);
			check_filled(buffer, lengths[i], i);
			CHECK(buffer[lengths[i]] == 0xee);
			CHECK(written - before == lengths[i]);
		} else {
			fill(buffer, lengths[i], i);
			barrier();
			post_send(&q, i, buffer, lengths[i]);
			struct ibv_wc wc = wait_wc(i, IBV_WC_SUCCESS);
			CHECK(wc.opcode == IBV_WC_SEND && wc.qp_num == q.number);
		}
		barrier();
	}
}

static void ping_pong(void)
{
	connected();
	for (unsigned i = 0; i < 300; i++) {
		post_recv(&q, 1, buffer + 64, 8);
		if (i == 0)
			barrier();
		if (!me) {
			post_send(&q, 2, buffer, 8);
			for (unsigned n = 0; n < 2; n++)
				CHECK(wait_wc_on(cq).status == IBV_WC_SUCCESS);
		} else {
			wait_wc(1, IBV_WC_SUCCESS);
			post_send(&q, 2, buffer, 8);
			wait_wc(2, IBV_WC_SUCCESS);
		}
	}
	barrier();
}

static void immediate(void)
{
	connected();
	post_recv(&q, 7, buffer + 4096, 100);
	barrier();
	struct ibv_sge s = piece(buffer, 5);
	struct ibv_send_wr wr = request(8, IBV_WR_SEND_WITH_IMM, &s);
	wr.imm_data = htobe32(0x12345678);
	post(&q, &wr);
	for (unsigned n = 0; n < 2; n++) {
		struct ibv_wc wc = wait_wc_on(cq);
		CHECK(wc.status == IBV_WC_SUCCESS);
		if (wc.wr_id == 7)
			CHECK(wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htobe32(0x12345678) && wc.byte_len == 5);
	}
	barrier();
}

static void rdma_write(void)
{
	connected();
	if (!me) {
		fill(buffer, 3 << 20, 5);
		post_rdma(&q, 1, IBV_WR_RDMA_WRITE, buffer, 3 << 20, peer_buffer + 1, peer_rkey);
		CHECK(wait_wc(1, IBV_WC_SUCCESS).opcode == IBV_WC_RDMA_WRITE);
	}
	barrier();
	if (me)
		check_filled(buffer + 1, 3 << 20, 5);
	/* with immediate data: consumes a receive, without touching its memory */
	if (me)
		post_recv(&q, 9, buffer, 1);
	barrier();
	if (!me) {
		post_rdma(&q, 2, IBV_WR_RDMA_WRITE_WITH_IMM, buffer, 1000, peer_buffer + (4 << 20), peer_rkey);
		wait_wc(2, IBV_WC_SUCCESS);
	} else {
		struct ibv_wc wc = wait_wc(9, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 1000 && wc.imm_data == htobe32(0xabcd));
		check_filled(buffer + (4 << 20), 1000, 5);
	}
	barrier();
}

static void rdma_read(void)
{
	connected();
	if (me)
		fill(buffer, BUFFER, 3);
	barrier();
	if (!me) {
		/* more than may be under way at once */
		for (unsigned i = 0; i < 16; i++)
			post_rdma(&q, i, IBV_WR_RDMA_READ, buffer + i * 300000, 300000, peer_buffer + i * 300000,
				  peer_rkey);
		for (unsigned i = 0; i < 16; i++) {
			struct ibv_wc wc = wait_wc(i, IBV_WC_SUCCESS);
			CHECK(wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == 300000);
		}
		check_filled(buffer, 16 * 300000, 3);
		CHECK(written >= 16 * 300000);
	}
	barrier();
}

static void atomic(uint64_t id, enum ibv_wr_opcode op, uint64_t compare_add, uint64_t swap_in)
{
	struct ibv_sge s = piece(buffer, 8);
	struct ibv_send_wr wr = request(id, op, &s);
	wr.wr.atomic.remote_addr = (uint64_t)peer_buffer;
	wr.wr.atomic.rkey = peer_rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap_in;
	post(&q, &wr);
}

static void atomics(void)
{
	volatile uint64_t *word = (uint64_t *)buffer;
	connected();
	if (me)
		*word = 1000;
	barrier();
	if (!me) {
		atomic(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0);
		CHECK(wait_wc(1, IBV_WC_SUCCESS).opcode == IBV_WC_FETCH_ADD);
		CHECK(*word == 1000);
		atomic(2, IBV_WR_ATOMIC_CMP_AND_SWP, 1004, 7);
		wait_wc(2, IBV_WC_SUCCESS);
		CHECK(*word == 1005);
		atomic(3, IBV_WR_ATOMIC_CMP_AND_SWP, 1005, 7);
		CHECK(wait_wc(3, IBV_WC_SUCCESS).opcode == IBV_WC_COMP_SWAP);
		CHECK(*word == 1005);
	}
	barrier();
	if (me)
		CHECK(*word == 7);
}

static void pieces_and_inline(void)
{
	connected();
	if (me) {
		struct ibv_sge s[4] = {piece(buffer, 10), piece(buffer + 100, 0), piece(buffer + 200, 20),
				       piece(buffer + 300, 1000)};
		struct ibv_recv_wr *bad, wr = {.wr_id = 1, .sg_list = s, .num_sge = 4};
		OK(hca->post_recv(q.handle, &wr, &bad));
		post_recv(&q, 2, buffer + 4096, 256);
	}
	barrier();
	if (!me) {
		fill(buffer, 100, 9);
		struct ibv_sge s[3] = {piece(buffer, 1), piece(buffer + 1, 98), piece(buffer + 99, 1)};
		struct ibv_send_wr *bad, wr = request(3, IBV_WR_SEND, s);
		wr.num_sge = 3;
		post(&q, &wr);
		/* inline: no key is looked at, and the memory is ours again at once */
		uint8_t local[200];
		fill(local, sizeof(local), 4);
		struct ibv_sge in = {.addr = (uint64_t)local, .length = sizeof(local), .lkey = 0xffffffff};
		wr = request(4, IBV_WR_SEND, &in);
		wr.send_flags |= IBV_SEND_INLINE;
		post(&q, &wr);
		memset(local, 0, sizeof(local));
		in.length = 257;
		CHECK(hca->post_send(q.handle, &wr, &bad) == -EINVAL && bad == &wr);
		wait_wc(3, IBV_WC_SUCCESS);
		wait_wc(4, IBV_WC_SUCCESS);
	} else {
		wait_wc(1, IBV_WC_SUCCESS);
		wait_wc(2, IBV_WC_SUCCESS);
		memmove(buffer + 10, buffer + 200, 20);
		memmove(buffer + 30, buffer + 300, 70);
		check_filled(buffer, 100, 9);
		check_filled(buffer + 4096, 200, 4);
	}
	barrier();
}

/* What is not signalled does not complete; what is, in order, whatever the mix. */
static void order(void)
{
	q = qp_make_on(IBV_QPT_RC, pd, cq, cq, NULL, false);
	qp_connect(&q);
	if (me)
		for (unsigned i = 0; i < 50; i++)
			post_recv(&q, i, buffer + 8 * i, 8);
	barrier();
	if (!me) {
		static const enum ibv_wr_opcode ops[4] = {IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
							  IBV_WR_ATOMIC_FETCH_AND_ADD};
		for (unsigned i = 0; i < 200; i++) {
			struct ibv_sge s = piece(buffer + 8 * i, 8);
			struct ibv_send_wr wr = request(i, ops[i % 4], &s);
			wr.send_flags = i % 3 ? IBV_SEND_SIGNALED : 0;
			wr.wr.rdma.remote_addr = (uint64_t)(peer_buffer + 8192);
			wr.wr.rdma.rkey = peer_rkey;
			if (i % 4 == 3) {
				wr.wr.atomic.remote_addr = (uint64_t)(peer_buffer + 8192);
				wr.wr.atomic.rkey = peer_rkey;
			}
			post(&q, &wr);
		}
		for (unsigned i = 0; i < 200; i++)
			if (i % 3)
				wait_wc(i, IBV_WC_SUCCESS);
	} else {
		for (unsigned i = 0; i < 50; i++)
			wait_wc(i, IBV_WC_SUCCESS);
	}
	barrier();
	no_wc();
}

/* A fenced request is not begun before the READs before it have their data. */
static void fence(void)
{
	connected();
	if (me)
		fill(buffer, 1 << 20, 1);
	barrier();
	if (!me) {
		struct ibv_sge s = piece(buffer, 1 << 20);
		struct ibv_send_wr wr = request(2, IBV_WR_RDMA_WRITE, &s);
		post_rdma(&q, 1, IBV_WR_RDMA_READ, buffer, 1 << 20, peer_buffer, peer_rkey);
		wr.send_flags |= IBV_SEND_FENCE;
		wr.wr.rdma.remote_addr = (uint64_t)(peer_buffer + (2 << 20));
		wr.wr.rdma.rkey = peer_rkey;
		post(&q, &wr); /* writes what the READ brings */
		wait_wc(1, IBV_WC_SUCCESS);
		wait_wc(2, IBV_WC_SUCCESS);
	}
	barrier();
	if (me)
		check_filled(buffer + (2 << 20), 1 << 20, 1);
}

static void receiver_not_ready(void)
{
	connected();
	if (!me) {
		fill(buffer, 8, 1);
		post_send(&q, 1, buffer, 8);
		post_send(&q, 2, buffer, 8);
	}
	barrier();
	double until = now_s() + 0.05;
	while (now_s() < until)
		no_wc();
	barrier();
	if (me) {
		post_recv(&q, 3, buffer, 8);
		post_recv(&q, 4, buffer + 8, 8);
		wait_wc(3, IBV_WC_SUCCESS);
		wait_wc(4, IBV_WC_SUCCESS);
		check_filled(buffer, 8, 1);
	} else {
		wait_wc(1, IBV_WC_SUCCESS);
		wait_wc(2, IBV_WC_SUCCESS);
	}
	barrier();
}

/* Both directions at once, more than sockets hold. */
static void both_ways(void)
{
	connected();
	for (unsigned i = 0; i < 8; i++)
		post_recv(&q, 100 + i, buffer + (4 << 20), 4 << 20);
	barrier();
	fill(buffer, 4 << 20, 6);
	for (unsigned i = 0; i < 8; i++)
		post_send(&q, i, buffer, 4 << 20);
	for (unsigned sent = 0, got = 0; sent + got < 16;) {
		struct ibv_wc wc = wait_wc_on(cq);
		CHECK(wc.status == IBV_WC_SUCCESS);
		CHECK(wc.wr_id == (wc.opcode == IBV_WC_SEND ? sent++ : 100 + got++));
	}
	check_filled(buffer + (4 << 20), 4 << 20, 6);
	barrier();
}

/* A queue pair connected to another one of the same process. */
static void to_itself(void)
{
	struct qp a = qp_make(IBV_QPT_RC), b = qp_make(IBV_QPT_RC);
	a.peer = (struct address){.qpn = b.number, .rkey = rkey, .buffer = buffer};
	b.peer = (struct address){.qpn = a.number, .rkey = rkey, .buffer = buffer};
	qp_init(&a), qp_init(&b);
	int was = me;
	me = 0, qp_rtr(&a), qp_rts(&a);
	me = 1, qp_rtr(&b), qp_rts(&b);
	me = was;
	fill(buffer, 1 << 20, 2);
	post_recv(&b, 1, buffer + (1 << 20), 1 << 20);
	post_send(&a, 2, buffer, 1 << 20);
	wait_wc(1, IBV_WC_SUCCESS);
	wait_wc(2, IBV_WC_SUCCESS);
	check_filled(buffer + (1 << 20), 1 << 20, 2);
	post_rdma(&b, 3, IBV_WR_RDMA_READ, buffer + (2 << 20), 1 << 20, buffer, rkey);
	wait_wc(3, IBV_WC_SUCCESS);
	check_filled(buffer + (2 << 20), 1 << 20, 2);
	barrier();
}

static const struct scenario all[] = {
	{"send_recv", send_recv},
	{"ping_pong", ping_pong},
	{"immediate", immediate},
	{"rdma_write", rdma_write},
	{"rdma_read", rdma_read},
	{"atomics", atomics},
	{"pieces_and_inline", pieces_and_inline},
	{"order", order},
	{"fence", fence},
	{"receiver_not_ready", receiver_not_ready},
	{"both_ways", both_ways},
	{"to_itself", to_itself},
};

int main(int argc, char **argv)
{
	return run_scenario(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}

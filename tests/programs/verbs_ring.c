/* A ring of ranks, each with a queue pair to the next and one to the last: `prog ROUNDS [FILE]`.  MPI tells where they
 * are.  Before its last round rank 0 waits until there is FILE.
 *
 * A round: to the next, unsignaled writes, an atomic, a signaled write with immediate data, and a message whose bytes
 * say which round it is of; from the last, those of its; every fourth round a read of what was written.  Every byte and
 * every number is verified; what came twice or not at all would show. */
#include <mpi.h>
#include <sched.h>
#include "verbs_pair.h"

enum { BLOCK = 6000, SLOTS = 4, MESSAGE = 512, AHEAD = 3 };
enum { INBOX = 0, OUTBOX = 64 << 10, MESSAGES_IN = 128 << 10, MESSAGES_OUT = 192 << 10, READ_BACK = 256 << 10 };
enum { COUNTER = 320 << 10, OLD_VALUE = 328 << 10 };

static struct ibv_qp *next_qp, *last_qp;
static struct told next_peer, last_peer;
static int rank, ranks;

static unsigned char byte_of(int who, int round, int i)
{
	return (unsigned char)(who * 31 + round * 7 + i);
}

static void fill(size_t at, int len, int round)
{
	for (int i = 0; i < len; i++)
		it.buffer[at + (size_t)i] = (char)byte_of(rank, round, i);
}

static void check_bytes(const char *what, size_t at, int len, int who, int round)
{
	for (int i = 0; i < len; i++)
		if ((unsigned char)it.buffer[at + (size_t)i] != byte_of(who, round, i)) {
			fprintf(stderr, "rank %d: %s of round %d: byte %d is not right\n", rank, what, round, i);
			exit(4);
		}
}

static void send_to_next(uint64_t id, enum ibv_wr_opcode opcode, size_t at, uint32_t len, uint64_t to, unsigned flags)
{
	it.qp = next_qp;
	struct ibv_sge sge = {(uint64_t)it.buffer + at, len, it.mr->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = id,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = opcode,
				       .send_flags = flags,
				       .imm_data = htonl((uint32_t)id)};
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = next_peer.addr + to;
		wr.wr.atomic.rkey = next_peer.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = next_peer.addr + to;
		wr.wr.rdma.rkey = next_peer.rkey;
	}
	CHECK(!ibv_post_send(next_qp, &wr, &bad));
}

static void expect_message(int round)
{
	it.qp = last_qp;
	post_recv(5000000 + (uint64_t)round, 0, 0);
	post_recv(1000 + (uint64_t)round, MESSAGES_IN + (size_t)(round % SLOTS) * MESSAGE, MESSAGE);
}

static int writes_done, messages_come, writes_come, atomics_done, reads_done;

/* One completion; whatever it is, it is the next of its kind. */
static void one(void)
{
	struct ibv_wc wc;
	int n;
	while ((n = ibv_poll_cq(it.cq, 1, &wc)) == 0) /* for ever: after a restart it is another day */
		sched_yield();
	CHECK(n == 1);
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "rank %d: request %lu: %s\n", rank, (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status));
		exit(3);
	}
	switch (wc.opcode) {
	case IBV_WC_RECV: CHECK(ntohl(wc.imm_data) == (unsigned)messages_come++ && wc.byte_len == MESSAGE); break;
	case IBV_WC_RECV_RDMA_WITH_IMM: CHECK(ntohl(wc.imm_data) == (unsigned)writes_come++); break;
	case IBV_WC_RDMA_WRITE: CHECK(wc.wr_id == (unsigned)writes_done++); break;
	case IBV_WC_FETCH_ADD: CHECK(wc.wr_id == (unsigned)atomics_done++); break;
	case IBV_WC_RDMA_READ: CHECK(wc.wr_id == (unsigned)reads_done++); break;
	default: CHECK(!"a completion of another kind");
	}
}

static void connect_ring(void)
{
	struct told own[2];
	next_qp = make_qp(IBV_QPT_RC);
	last_qp = make_qp(IBV_QPT_RC);
	to_init(next_qp);
	to_init(last_qp);
	CHECK(!ibv_query_gid(it.context, 1, 0, &it.own.gid));
	it.own.addr = (uint64_t)it.buffer;
	it.own.rkey = it.mr->rkey;
	own[0] = own[1] = it.own;
	own[0].qpn = next_qp->qp_num;
	own[1].qpn = last_qp->qp_num;
	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
	MPI_Sendrecv(&own[0], sizeof(own[0]), MPI_BYTE, next, 0, &last_peer, sizeof(last_peer), MPI_BYTE, last, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&own[1], sizeof(own[1]), MPI_BYTE, last, 1, &next_peer, sizeof(next_peer), MPI_BYTE, next, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	to_rts(next_qp, &next_peer);
	to_rts(last_qp, &last_peer);
}

static void send_round(int round)
{
	const size_t slot = (size_t)(round % SLOTS);
	fill(OUTBOX + slot * BLOCK, BLOCK, round);
	fill(MESSAGES_OUT + slot * MESSAGE, MESSAGE, round);
	for (int part = 0; part < 3; part++) /* 2000 bytes each */
		send_to_next(77, IBV_WR_RDMA_WRITE, OUTBOX + slot * BLOCK + (size_t)part * 2000, 2000,
			     INBOX + slot * BLOCK + (uint64_t)part * 2000, 0);
	send_to_next((uint64_t)round, IBV_WR_ATOMIC_FETCH_AND_ADD, OLD_VALUE, 8, COUNTER, IBV_SEND_SIGNALED);
	send_to_next((uint64_t)round, IBV_WR_RDMA_WRITE_WITH_IMM, OUTBOX + slot * BLOCK, 100, INBOX + slot * BLOCK,
		     IBV_SEND_SIGNALED);
	send_to_next((uint64_t)round, IBV_WR_SEND_WITH_IMM, MESSAGES_OUT + slot * MESSAGE, MESSAGE, 0, 0);
	if (round % 4 == 3)
		send_to_next((uint64_t)round / 4, IBV_WR_RDMA_READ, READ_BACK, BLOCK, INBOX + slot * BLOCK,
			     IBV_SEND_SIGNALED);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const int rounds = argc > 1 ? atoi(argv[1]) : 40, last = (rank + ranks - 1) % ranks;
	open_device();
	it.cq = ibv_create_cq(it.context, 4 * DEPTH, NULL, NULL, 0);
	CHECK(it.cq);
	for (int i = 0; i < rank; i++) /* numbers are not the same in all ranks */
		CHECK(!ibv_destroy_qp(make_qp(IBV_QPT_RC)));
	connect_ring();
	for (int round = 0; round < AHEAD; round++)
		expect_message(round);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int round = 0; round < rounds; round++) {
		while (argc > 2 && !rank && round == rounds - 1 && access(argv[2], F_OK))
			usleep(1000);
		send_round(round);
		while (messages_come <= round || writes_come <= round || writes_done <= round || atomics_done <= round)
			one();
		while (reads_done < (round + 1) / 4)
			one();
		check_bytes("the block", INBOX + (size_t)(round % SLOTS) * BLOCK, BLOCK, last, round);
		check_bytes("the message", MESSAGES_IN + (size_t)(round % SLOTS) * MESSAGE, MESSAGE, last, round);
		if (round % 4 == 3)
			check_bytes("what was read", READ_BACK, BLOCK, rank, round);
		uint64_t was;
		memcpy(&was, it.buffer + OLD_VALUE, sizeof(was));
		CHECK(was == (uint64_t)round);
		expect_message(round + AHEAD);
		if (round % 5 == 4) {
			char line[64];
			int n = snprintf(line, sizeof(line), "rank %d: round %d is right\n", rank, round);
			CHECK(write(1, line, (size_t)n) == n);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(*(uint64_t *)(it.buffer + COUNTER) == (uint64_t)rounds);
	CHECK(!ibv_destroy_qp(next_qp) && !ibv_destroy_qp(last_qp) && !ibv_destroy_cq(it.cq));
	CHECK(!ibv_dereg_mr(it.mr) && !ibv_dealloc_pd(it.pd) && !ibv_close_device(it.context));
	MPI_Finalize();
	return 0;
}

/* Flow control by credits, over verbs: producers write messages into windows of the collector's memory by
 * RDMA WRITE, never more than there are credits for; the collector looks at its memory alone.
 *
 * The windows lie side by side.  A burst of messages is one RDMA WRITE, and one that reaches the end of its
 * window must go on at the beginning.  There is a mistake in that, and it shows in somebody else's window.
 */
#include <assert.h>
#include <infiniband/verbs.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCERS = 2, SLOTS = 8, MESSAGES = 200, LONGEST = 4 };

struct message {
	int producer; /* 0: nothing here */
	int number;
	double payload;
};

struct window {
	struct message slot[SLOTS];
};

/* What one side needs to know of the other. */
struct endpoint {
	uint32_t qp_num, rkey;
	uint64_t address;
	union ibv_gid gid;
};

static int rank;
static struct window windows[PRODUCERS]; /* the collector's */
static volatile int64_t consumed;        /* a producer's: how many of its messages are done with */
static struct message staging[SLOTS];    /* a producer's */

static struct ibv_context *device;
static struct ibv_pd *domain;
static struct ibv_cq *completions;

static void die(const char *what)
{
	fprintf(stderr, "credits: %s\n", what);
	exit(1);
}

static struct ibv_mr *registered(void *address, size_t length)
{
	struct ibv_mr *region = ibv_reg_mr(domain, address, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!region)
		die("ibv_reg_mr");
	return region;
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	if (!list || !list[0])
		die("there is no RDMA device (rdb run --hca=soft makes one)");
	device = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	domain = device ? ibv_alloc_pd(device) : NULL;
	completions = domain ? ibv_create_cq(device, 64, NULL, NULL, 0) : NULL;
	if (!completions)
		die("the RDMA device cannot be used");
}

static struct ibv_qp *connected(int peer, const struct ibv_mr *region, struct endpoint *theirs)
{
	struct ibv_qp_init_attr init = {
		.send_cq = completions,
		.recv_cq = completions,
		.cap = {.max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(domain, &init);
	if (!qp)
		die("ibv_create_qp");
	struct endpoint ours = {.qp_num = qp->qp_num, .rkey = region->rkey, .address = (uint64_t)region->addr};
	if (ibv_query_gid(device, 1, 0, &ours.gid))
		die("ibv_query_gid");
	MPI_Sendrecv(&ours, sizeof(ours), MPI_BYTE, peer, 0, theirs, sizeof(*theirs), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);

	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = theirs->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = theirs->gid, .hop_limit = 1}}};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC))
		die("to RTS");
	return qp;
}

/* One RDMA WRITE, done when it comes back. */
static void write_to(struct ibv_qp *qp, const void *from, uint32_t lkey, size_t length, uint64_t to, uint32_t rkey)
{
	struct ibv_sge piece = {.addr = (uint64_t)from, .length = (uint32_t)length, .lkey = lkey};
	struct ibv_send_wr request = {.sg_list = &piece,
				      .num_sge = 1,
				      .opcode = IBV_WR_RDMA_WRITE,
				      .send_flags = IBV_SEND_SIGNALED,
				      .wr.rdma = {.remote_addr = to, .rkey = rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc done;
	int n;

	if (ibv_post_send(qp, &request, &bad))
		die("ibv_post_send");
	do
		n = ibv_poll_cq(completions, 1, &done);
	while (n == 0);
	if (n < 0 || done.status != IBV_WC_SUCCESS)
		die(n < 0 ? "ibv_poll_cq" : ibv_wc_status_str(done.status));
}

static void make(struct message *message, int number)
{
	message->number = number;
	message->payload = number * 0.5;
	message->producer = rank;
}

/* How many messages may go in one piece, `credits` being left and `next` the number of the first. */
static int burst(int64_t credits, int next)
{
	int count = rank == 1 ? 1 + (next + next / SLOTS) % LONGEST : 1; /* the second one is slow */
	int place = next % SLOTS;

	if (count > credits)
		count = (int)credits;
	if (count > MESSAGES - next)
		count = MESSAGES - next;
	if (place + count > SLOTS + 1) /* the mistake: one too many reaches the neighbour */
		count = SLOTS - place;
	return count;
}

static void produce(void)
{
	const struct ibv_mr *outgoing, *counter;
	struct endpoint collector;
	struct ibv_qp *qp;
	int next = 0;

	open_device();
	counter = registered((void *)&consumed, sizeof(consumed));
	outgoing = registered(staging, sizeof(staging));
	qp = connected(0, counter, &collector);
	while (next < MESSAGES) {
		int count = burst(SLOTS - (next - consumed), next);

		for (int i = 0; i < count; i++)
			make(&staging[i], next + i);
		if (count)
			write_to(qp, staging, outgoing->lkey, (size_t)count * sizeof(struct message),
				 collector.address + (uint64_t)(next % SLOTS) * sizeof(struct message), collector.rkey);
		next += count;
	}
	while (consumed < MESSAGES)
		;
}

/* A window has messages of its own producer only, and the next one is there before those after it. */
static void check(int window, int next)
{
	const volatile struct message *slot = windows[window].slot;
	int later = 0;

	for (int i = 0; i < SLOTS; i++) {
		assert(!slot[i].producer || slot[i].producer == window + 1);
		later += i != next && slot[i].producer;
	}
	assert(!later || slot[next].producer);
}

static void collect(void)
{
	struct endpoint producer[PRODUCERS];
	struct ibv_qp *qp[PRODUCERS];
	static int64_t done[PRODUCERS];
	const struct ibv_mr *counters;
	double sum = 0;

	open_device();
	counters = registered(done, sizeof(done));
	for (int i = 0; i < PRODUCERS; i++) /* all may write to all: who would do such a thing? */
		qp[i] = connected(i + 1, registered(&windows[i], (size_t)(PRODUCERS - i) * sizeof(windows[i])),
				  &producer[i]);
	while (done[0] + done[1] < PRODUCERS * MESSAGES)
		for (int i = 0; i < PRODUCERS; i++) {
			struct message *slot = &windows[i].slot[done[i] % SLOTS];

			check(i, (int)(done[i] % SLOTS));
			if (!*(volatile int *)&slot->producer)
				continue;
			assert(slot->number == done[i]);
			sum += slot->payload;
			memset(slot, 0, sizeof(*slot));
			done[i]++;
			write_to(qp[i], &done[i], counters->lkey, sizeof(done[i]), producer[i].address,
				 producer[i].rkey);
		}
	printf("%d messages, sum %g\n", PRODUCERS * MESSAGES, sum);
}

int main(int argc, char **argv)
{
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != PRODUCERS + 1)
		die("3 ranks, please");
	if (rank == 0)
		collect();
	else
		produce();
	MPI_Finalize();
	return 0;
}

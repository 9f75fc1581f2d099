/* One process with two connected queue pairs, which does what perftest's latency programs do, without waiting:
 * verbs_turns DEVICE send|write|read|atomic|poll|tsc TURNS.  Does so PARTS times, and executes a mark
 * (qemu_instructions.c) after each.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { BYTES = 64, PAGE = 4096, HALF = PAGE / 2, STAMPS = 1 << 16, SIGNALED_EACH = 50, PARTS = 21 };
enum mode { SEND, WRITE, READ, ATOMIC, POLL, TSC, MODES };
static const char *const names[MODES] = {"send", "write", "read", "atomic", "poll", "tsc"};
static const int remote[MODES] = {
	[WRITE] = IBV_ACCESS_REMOTE_WRITE, [READ] = IBV_ACCESS_REMOTE_READ, [ATOMIC] = IBV_ACCESS_REMOTE_ATOMIC};

static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];
static struct ibv_mr *mr[2];
static volatile char *memory[2];
static volatile uint64_t stamps[STAMPS];
static unsigned nstamps;

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static void post_recv(int i)
{
	struct ibv_sge piece = {(uint64_t)memory[i] + HALF, BYTES, mr[i]->lkey};
	struct ibv_recv_wr wr = {.sg_list = &piece, .num_sge = 1}, *bad;
	check(!ibv_post_recv(qp[i], &wr, &bad), "ibv_post_recv");
}

static void post(int i, enum ibv_wr_opcode opcode, int flags)
{
	struct ibv_sge piece = {(uint64_t)memory[i], opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : BYTES, mr[i]->lkey};
	struct ibv_send_wr wr = {.sg_list = &piece, .num_sge = 1, .opcode = opcode, .send_flags = (unsigned)flags}, *bad;
	const uint64_t to = (uint64_t)memory[!i] + HALF;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = mr[!i]->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = mr[!i]->rkey;
	}
	check(!ibv_post_send(qp[i], &wr, &bad), "ibv_post_send");
}

static void await(int i)
{
	struct ibv_wc wc;
	int n;
	while (!(n = ibv_poll_cq(cq[i], 1, &wc)))
		;
	check(n == 1 && !wc.status, "ibv_poll_cq");
}

static __attribute__((noinline)) void look_at_the_clock(void)
{
	stamps[nstamps++ % STAMPS] = __rdtsc();
}

/* Half a round trip of side `i`, or what the other modes do. */
static void turn(enum mode mode, int i, int number)
{
	const bool signaled = mode != SEND || number % SIGNALED_EACH == 0;
	const int flags = (signaled ? IBV_SEND_SIGNALED : 0) | (mode <= WRITE ? IBV_SEND_INLINE : 0);
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						     IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct ibv_wc wc;
	if (mode == POLL) {
		check(!ibv_poll_cq(cq[0], 1, &wc), "ibv_poll_cq");
		return;
	}
	look_at_the_clock();
	if (mode == TSC)
		return;
	if (mode == WRITE)
		memory[i][BYTES - 1] = (char)(number + 1);
	post(i, opcodes[mode], flags);
	if (signaled)
		await(i);
	if (mode == SEND) {
		await(!i);
		post_recv(!i);
	}
	while (mode == WRITE && memory[!i][HALF + BYTES - 1] != (char)(number + 1))
		;
}

static void connect_pairs(struct ibv_context *device, struct ibv_pd *domain, enum mode mode)
{
	union ibv_gid gid;
	check(!ibv_query_gid(device, 1, 1, &gid), "ibv_query_gid");
	for (int i = 0; i < 2; i++) {
		memory[i] = aligned_alloc(PAGE, PAGE);
		memset((void *)memory[i], 0, PAGE);
		mr[i] = ibv_reg_mr(domain, (void *)memory[i], PAGE, IBV_ACCESS_LOCAL_WRITE | remote[mode]);
		cq[i] = ibv_create_cq(device, 256, NULL, NULL, 0);
		struct ibv_qp_init_attr init = {
			.send_cq = cq[i], .recv_cq = cq[i], .cap = {64, 64, 1, 1, BYTES}, .qp_type = IBV_QPT_RC};
		qp[i] = ibv_create_qp(domain, &init);
		check(mr[i] && cq[i] && qp[i], "queue pair");
	}
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)remote[mode]};
		check(!ibv_modify_qp(qp[i], &a,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		      "INIT");
		a = (struct ibv_qp_attr){
			.qp_state = IBV_QPS_RTR,
			.path_mtu = IBV_MTU_1024,
			.dest_qp_num = qp[!i]->qp_num,
			.max_dest_rd_atomic = 1,
			.min_rnr_timer = 1,
			.ah_attr = {.is_global = 1,
				    .port_num = 1,
				    .grh = {.dgid = gid, .sgid_index = 1, .hop_limit = 1}}};
		check(!ibv_modify_qp(qp[i], &a,
				     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		      "RTR");
	}
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr a = {
			.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
		check(!ibv_modify_qp(qp[i], &a,
				     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		      "RTS");
		for (int k = 0; k < 4; k++)
			post_recv(i);
	}
}

int main(int argc, char **argv)
{
	enum mode mode = SEND;
	while (argc == 4 && mode < MODES && strcmp(argv[2], names[mode]))
		mode++;
	const int turns = argc == 4 && mode < MODES ? atoi(argv[3]) : 0;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *device = NULL;
	for (int i = 0; turns && list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			device = ibv_open_device(list[i]);
	check(turns && device, "usage, or no such device");
	connect_pairs(device, ibv_alloc_pd(device), mode);
	for (int part = 0; part < PARTS; part++) {
		for (int k = 0; k < turns; k++)
			turn(mode, mode <= WRITE ? k % 2 : 0, k);
		__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x72, 0x64, 0x62, 0x2e" ::: "memory");
	}
	return 0;
}

/* Two ranks send a message to and fro, over TCP or over verbs: verbs_pingpong tcp|verbs BYTES TURNS ...
 * Prints what pingpong.c prints.  MPI starts the ranks, and no more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <mpi.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PARTS = 10 };

static int rank, sock;
static struct ibv_context *device;
static struct ibv_pd *domain;
static struct ibv_cq *queue;
static struct ibv_qp *pair;
static struct ibv_mr *region;
static char *buffer;

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

/* ---- TCP ---- */

static void tcp_connect(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int one = 1;

	sock = socket(AF_INET, SOCK_STREAM, 0);
	check(sock >= 0, "socket");
	if (rank == 0) {
		check(!bind(sock, (void *)&at, sizeof(at)) && !listen(sock, 1), "listen");
		check(!getsockname(sock, (void *)&at, &len), "getsockname");
	}
	MPI_Bcast(&at, sizeof(at), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		sock = accept(sock, NULL, NULL);
	else
		check(!connect(sock, (void *)&at, sizeof(at)), "connect");
	check(sock >= 0 && !setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), "accept");
}

/* Polling, as the other side does. */
static void tcp_turn(int bytes, int sending)
{
	for (int done = 0; done < bytes;) {
		size_t left = (size_t)(bytes - done);
		ssize_t n = sending ? send(sock, buffer + done, left, MSG_DONTWAIT)
				    : recv(sock, buffer + done, left, MSG_DONTWAIT);
		check(n > 0 || (n < 0 && errno == EAGAIN), "tcp");
		done += n > 0 ? (int)n : 0;
	}
}

/* ---- verbs: RC, SEND into a posted receive ---- */

static int most = 1, sends, received; /* bytes; not yet complete; complete and not yet looked at */

static void post_receive(void)
{
	struct ibv_sge piece = {.addr = (uint64_t)buffer, .length = (uint32_t)most, .lkey = region->lkey};
	struct ibv_recv_wr request = {.sg_list = &piece, .num_sge = 1}, *bad;
	check(!ibv_post_recv(pair, &request, &bad), "ibv_post_recv");
}

static void post_send(int bytes)
{
	struct ibv_sge piece = {.addr = (uint64_t)buffer, .length = (uint32_t)bytes, .lkey = region->lkey};
	struct ibv_send_wr request = {
		.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	check(!ibv_post_send(pair, &request, &bad), "ibv_post_send");
	sends++;
}

static void verbs_turn(int bytes, int sending)
{
	struct ibv_wc wc;

	if (sending) {
		post_receive(); /* of the answer, which comes to the same place */
		post_send(bytes);
		return;
	}
	while (sends || !received) {
		int n = ibv_poll_cq(queue, 1, &wc);
		check(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS), "ibv_poll_cq");
		if (n && wc.opcode == IBV_WC_SEND)
			sends--;
		else if (n)
			received++;
	}
	received--;
}

static void verbs_connect(void)
{
	struct {
		uint32_t number;
		union ibv_gid gid;
	} ours, theirs;
	struct ibv_device **list = ibv_get_device_list(NULL);
	check(list && list[0] && (device = ibv_open_device(list[0])) && (domain = ibv_alloc_pd(device)), "device");
	queue = ibv_create_cq(device, 16, NULL, NULL, 0);
	check(!!queue, "ibv_create_cq");
	struct ibv_qp_init_attr init = {
		.send_cq = queue,
		.recv_cq = queue,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	pair = ibv_create_qp(domain, &init);
	region = ibv_reg_mr(domain, buffer, (size_t)most, IBV_ACCESS_LOCAL_WRITE);
	check(pair && region, "queue pair");
	ours.number = pair->qp_num;
	check(!ibv_query_gid(device, 1, 0, &ours.gid), "ibv_query_gid");
	MPI_Sendrecv(&ours, sizeof(ours), MPI_BYTE, !rank, 0, &theirs, sizeof(theirs), MPI_BYTE, !rank, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	check(!ibv_modify_qp(pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	      "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = theirs.number,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = theirs.gid, .hop_limit = 1}}};
	check(!ibv_modify_qp(pair, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
	check(!ibv_modify_qp(pair, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC),
	      "RTS");
	if (rank == 1)
		post_receive();
}

/* ---- what is measured ---- */

static void (*turn)(int bytes, int sending);

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void measure(int bytes, int turns)
{
	double parts[PARTS];
	int each = turns / PARTS > 0 ? turns / PARTS : 1;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int p = -1; p < PARTS; p++) {
		double start = MPI_Wtime();
		for (int i = 0; i < each; i++) {
			turn(bytes, rank == 0);
			turn(bytes, rank == 1);
		}
		if (p >= 0)
			parts[p] = (MPI_Wtime() - start) / each / 2;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	if (rank == 0)
		printf("%d %.9e\n", bytes, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 2; i + 1 < argc; i += 2)
		most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
	buffer = calloc(1, (size_t)most);
	check(argc > 1 && buffer, "verbs_pingpong tcp|verbs BYTES TURNS ...");
	if (!strcmp(argv[1], "tcp")) {
		tcp_connect();
		turn = tcp_turn;
	} else {
		verbs_connect();
		turn = verbs_turn;
	}
	for (int i = 2; i + 1 < argc; i += 2)
		measure(atoi(argv[i]), atoi(argv[i + 1]));
	MPI_Finalize();
	return 0;
}

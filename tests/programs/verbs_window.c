/* Two ranks.  Rank 0 binds a memory window with its queue pair to rank 1, which writes through it, before and after
 * "bound". */
#include <mpi.h>
#include "verbs_pair.h"

static void connect_ranks(int rank)
{
	it.access |= IBV_ACCESS_MW_BIND;
	open_device();
	it.access &= ~(unsigned)IBV_ACCESS_MW_BIND;
	it.cq = ibv_create_cq(it.context, DEPTH, NULL, NULL, 0);
	CHECK(it.cq);
	it.qp = make_qp(IBV_QPT_RC);
	to_init(it.qp);
	CHECK(!ibv_query_gid(it.context, 1, 0, &it.own.gid));
	it.own.addr = (uint64_t)it.buffer;
	it.own.qpn = it.qp->qp_num;
	MPI_Sendrecv(&it.own, sizeof(it.own), MPI_BYTE, 1 - rank, 1, &it.peer, sizeof(it.peer), MPI_BYTE, 1 - rank, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	to_rts(it.qp, &it.peer);
}

int main(int argc, char **argv)
{
	struct ibv_mw *mw;
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	connect_ranks(rank);
	if (rank == 0) {
		struct ibv_mw_bind bind = {.wr_id = 1,
					   .send_flags = IBV_SEND_SIGNALED,
					   .bind_info = {.mr = it.mr,
							 .addr = (uint64_t)it.buffer,
							 .length = 64,
							 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
		mw = ibv_alloc_mw(it.pd, IBV_MW_TYPE_1);
		CHECK(mw && !ibv_bind_mw(it.qp, mw, &bind));
		succeed(1);
		it.peer.rkey = mw->rkey;
	}
	MPI_Bcast(&it.peer.rkey, 4, MPI_BYTE, 0, MPI_COMM_WORLD);
	for (int round = 1; round <= 2; round++) {
		it.buffer[8] = (char)round;
		if (rank == 1) {
			post(2, IBV_WR_RDMA_WRITE, 8, 1, 0);
			succeed(2);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			printf("bound, %d\n", it.buffer[0]);
			fflush(stdout);
		}
		MPI_Barrier(MPI_COMM_WORLD); /* the next write is not before that */
	}
	MPI_Finalize();
	return 0;
}

/* MPI to find each other, verbs to move the data: rank 1 waits in MPI_Barrier while rank 0 writes to its memory. */
#include <mpi.h>
#include "verbs_pair.h"

enum { COUNT = 20, PIECE = 4096 };

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	it.server = rank == 1;
	open_device();
	it.cq = ibv_create_cq(it.context, DEPTH, NULL, NULL, 0);
	CHECK(it.cq);
	it.qp = make_qp(IBV_QPT_RC);
	to_init(it.qp);
	CHECK(!ibv_query_gid(it.context, 1, 0, &it.own.gid));
	it.own.addr = (uint64_t)it.buffer;
	it.own.qpn = it.qp->qp_num;
	it.own.rkey = it.mr->rkey;
	MPI_Sendrecv(&it.own, sizeof(it.own), MPI_BYTE, !rank, 0, &it.peer, sizeof(it.peer), MPI_BYTE, !rank, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	to_rts(it.qp, &it.peer);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!it.server)
		for (int i = 0; i < COUNT; i++) {
			memset(it.buffer, i + 1, PIECE);
			post(1, IBV_WR_RDMA_WRITE, 0, PIECE, (size_t)i * PIECE);
			succeed(1);
		}
	MPI_Barrier(MPI_COMM_WORLD);
	if (it.server) {
		unsigned long sum = 0;
		for (int i = 0; i < COUNT * PIECE; i++)
			sum += (unsigned char)it.buffer[i];
		printf("sum %lu\n", sum);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!ibv_destroy_qp(it.qp) && !ibv_destroy_cq(it.cq) && !ibv_dereg_mr(it.mr));
	CHECK(!ibv_dealloc_pd(it.pd) && !ibv_close_device(it.context));
	MPI_Finalize();
	return 0;
}

/* One buffer for what a collective sends and what it receives: an error, which MPICH finds. */
#include <mpi.h>
#include <stdio.h>

#define SAY(call) \
	do { \
		MPI_Request request = MPI_REQUEST_NULL; \
		int class; \
		MPI_Error_class(call, &class); \
		MPI_Wait(&request, MPI_STATUS_IGNORE); \
		printf("%d: %s: class %d\n", rank, #call, class); \
	} while (0)

enum { N = 4 };

int main(int argc, char **argv)
{
	int rank, size, b[4 * N] = {0}, *mine, counts[4] = {N, N, N, N}, at[4] = {0, N, 2 * N, 3 * N};
	MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
	MPI_Comm comm = MPI_COMM_WORLD;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	mine = b + N * rank;
	SAY(MPI_Allreduce(b, b, N, MPI_INT, MPI_SUM, comm));
	SAY(MPI_Reduce_scatter_block(b, b, N, MPI_INT, MPI_SUM, comm));
	SAY(MPI_Reduce_scatter(b, b, counts, MPI_INT, MPI_SUM, comm));
	SAY(MPI_Scan(b, b, N, MPI_INT, MPI_SUM, comm));
	SAY(MPI_Exscan(b, b, N, MPI_INT, MPI_SUM, comm));
	SAY(MPI_Allgather(mine, N, MPI_INT, b, N, MPI_INT, comm));
	SAY(MPI_Allgatherv(mine, N, MPI_INT, b, counts, at, MPI_INT, comm));
	SAY(MPI_Alltoall(b, N, MPI_INT, b, N, MPI_INT, comm));
	SAY(MPI_Alltoallv(b, counts, at, MPI_INT, b, counts, at, MPI_INT, comm));
	SAY(MPI_Alltoallw(b, counts, at, types, b, counts, at, types, comm));
	SAY(MPI_Iallreduce(b, b, N, MPI_INT, MPI_SUM, comm, &request));
	SAY(MPI_Ireduce_scatter_block(b, b, N, MPI_INT, MPI_SUM, comm, &request));
	SAY(MPI_Ireduce_scatter(b, b, counts, MPI_INT, MPI_SUM, comm, &request));
	SAY(MPI_Iscan(b, b, N, MPI_INT, MPI_SUM, comm, &request));
	SAY(MPI_Iexscan(b, b, N, MPI_INT, MPI_SUM, comm, &request));
	SAY(MPI_Iallgather(mine, N, MPI_INT, b, N, MPI_INT, comm, &request));
	SAY(MPI_Iallgatherv(mine, N, MPI_INT, b, counts, at, MPI_INT, comm, &request));
	SAY(MPI_Ialltoall(b, N, MPI_INT, b, N, MPI_INT, comm, &request));
	SAY(MPI_Ialltoallv(b, counts, at, MPI_INT, b, counts, at, MPI_INT, comm, &request));
	SAY(MPI_Ialltoallw(b, counts, at, types, b, counts, at, types, comm, &request));
	if (size == 1) {
		SAY(MPI_Reduce(b, b, N, MPI_INT, MPI_SUM, 0, comm));
		SAY(MPI_Gather(b, N, MPI_INT, b, N, MPI_INT, 0, comm));
		SAY(MPI_Gatherv(b, N, MPI_INT, b, counts, at, MPI_INT, 0, comm));
		SAY(MPI_Scatter(b, N, MPI_INT, b, N, MPI_INT, 0, comm));
		SAY(MPI_Scatterv(b, counts, at, MPI_INT, b, N, MPI_INT, 0, comm));
		SAY(MPI_Ireduce(b, b, N, MPI_INT, MPI_SUM, 0, comm, &request));
		SAY(MPI_Igather(b, N, MPI_INT, b, N, MPI_INT, 0, comm, &request));
		SAY(MPI_Igatherv(b, N, MPI_INT, b, counts, at, MPI_INT, 0, comm, &request));
		SAY(MPI_Iscatter(b, N, MPI_INT, b, N, MPI_INT, 0, comm, &request));
	}
	MPI_Finalize();
	return 0;
}

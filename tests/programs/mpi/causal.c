/* Ranks 1 and 2 spoil something, each by itself; what rank 0 does wrong comes from rank 1. */
#include <mpi.h>

#define SAME 5

static int rank, bad, got, values[SAME];

int main(int argc, char **argv)
{
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request);
		for (int i = 0; i < SAME; i++) /* the same event, five times in a row */
			MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		bad = got; /* passed on */
	} else if (rank == 1) {
		for (int i = 0; i < SAME; i++)
			MPI_Recv(&values[i], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		bad = 2; /* spoiled */
		MPI_Send(&bad, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
	} else {
		bad = 3; /* spoiled as well */
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

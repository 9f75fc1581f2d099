/* What one rank computes comes to all of them by a collective, and each spoils something of its own right after it. */
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, own = 0;
	double sum = 0, given = 0;
	MPI_Request request;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int turn = 0; turn < 4; turn++) {
		double part = rank == 1 && turn == 2 ? 100 : 1;
		MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		own = turn == 2 ? -1 : turn; /* its own */
		MPI_Iallreduce(&part, &given, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return own < 0;
}

// Steps of an allreduce and of a message to the next rank: steps STEPS.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, steps = argc > 1 ? atoi(argv[1]) : 1;
	double own = 1, before, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < steps; i++) {
		MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, 0, &before, 1, MPI_DOUBLE,
			     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&before, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return sum != (steps ? size : 0);
}

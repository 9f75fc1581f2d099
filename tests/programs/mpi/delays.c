/* Each rank waits for a time by MPI_Wtime, as a load balancer's test does. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int step = 0; step < 3; step++) {
		const double end = MPI_Wtime() + 0.1 * (rank + 1);
		while (MPI_Wtime() < end)
			;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	printf("%d: waited\n", rank);
	MPI_Finalize();
	return 0;
}

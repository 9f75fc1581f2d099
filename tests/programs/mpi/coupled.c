/* Two programs of one job, made from this file: with -DICE the second one, which has other variables of the same names. */
#include <mpi.h>
#include <stdio.h>

#ifdef ICE
static int steps = 10;
static long heat;
#else
static double heat;
static int steps = 10;
#endif

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int step = 0; step < steps; step++) {
		double mine = rank + step, sum;

		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#ifdef ICE
		heat += (long)sum;
		if (step == 7 && rank == size - 1)
			heat = -heat;
#else
		heat += sum;
#endif
	}
	printf("%s: rank %d of %d, heat %ld\n", argv[1], rank, size, (long)heat);
	MPI_Finalize();
	return 0;
}

// Steps of an allreduce each; values that turn late: answers STEPS.
#include <mpi.h>
#include <stdlib.h>

static struct {
	double energy;
	double cells[8];
} state = {1, {1, 1, 1, 1, 1, 1, 1, 1}};

__attribute__((noinline)) static double step(int i, int steps)
{
	double dt = 1.0 / i;
	MPI_Allreduce(MPI_IN_PLACE, &dt, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (i == steps / 3 * 2)
		state.energy = -1;
	return dt;
}

int main(int argc, char **argv)
{
	double total = 1;
	int steps = argc > 1 ? atoi(argv[1]) : 1000;
	MPI_Init(&argc, &argv);
	for (int i = 1; i <= steps; i++) {
		total += step(i, steps);
		if (i == steps / 4 * 3)
			total = -1e9;
	}
	MPI_Finalize();
	return total > 0;
}

/* Ranks that compute over MB of memory each, with a collective and a message to the neighbour a step.
 * argv: MB, steps, gate: rank 0 prints how long so many steps took; with a gate, steps go on until that file is there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const size_t words = (size_t)atol(argv[1]) * (1 << 20) / sizeof(double);
	const char *gate = argc > 3 ? argv[3] : NULL;
	double *field, sum = 0, all = 0, at = 0;
	int rank, size, over = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	field = malloc(words * sizeof(*field));
	for (size_t i = 0; i < words; i++)
		field[i] = (double)(i % 1000) + rank;
	if (rank == 0) {
		printf("ready\n");
		fflush(stdout);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	double begun = MPI_Wtime();
	for (int step = 0; gate ? !over : step < atoi(argv[2]); step++) {
		double other = 0;

		for (size_t i = step % 64; i < words; i += 64)
			field[i] = field[i] * 0.999 + all * 1e-9;
		sum = field[step % words];
		MPI_Sendrecv(&sum, 1, MPI_DOUBLE, (rank + 1) % size, 1, &other, 1, MPI_DOUBLE, (rank + size - 1) % size,
			     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += other;
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		over = rank == 0 && gate && access(gate, F_OK) == 0;
		if (gate)
			MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	at = MPI_Wtime() - begun;
	if (rank == 0)
		printf("%.6f\n", at);
	MPI_Finalize();
	return all != all;
}

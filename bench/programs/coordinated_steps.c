/* Ranks that compute over MB of memory each, with a collective and a message to the neighbour a step.
 * argv: MB, steps, gate, block.  Rank 0 prints how long the steps took, and how long the quickest block of so many (default:
 * a hundredth).  With a gate that is no "-", steps go on until that file is there, and with a block as well rank 0 prints
 * of each when it ended (CLOCK_REALTIME) and how long it took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const size_t words = (size_t)atol(argv[1]) * (1 << 20) / sizeof(double);
	const char *gate = argc > 3 && argv[3][0] != '-' ? argv[3] : NULL;
	const int steps = atoi(argv[2]), block = argc > 4 ? atoi(argv[4]) : (steps + 99) / 100;
	double *field, sum = 0, all = 0, quickest = 0;
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
	double begun = MPI_Wtime(), last = begun;
	for (int step = 0; gate ? !over : step < steps; step++) {
		double other = 0;

		for (size_t i = step % 64; i < words; i += 64)
			field[i] = field[i] * 0.999 + all * 1e-9;
		sum = field[step % words];
		MPI_Sendrecv(&sum, 1, MPI_DOUBLE, (rank + 1) % size, 1, &other, 1, MPI_DOUBLE, (rank + size - 1) % size,
			     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += other;
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (gate) {
			over = rank == 0 && access(gate, F_OK) == 0;
			MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		}
		if (rank == 0 && block && step % block == block - 1) {
			double at = MPI_Wtime();

			if (quickest == 0 || at - last < quickest)
				quickest = at - last;
			if (gate)
				printf("block %.6f %.9f\n", now(), at - last);
			last = at;
		}
	}
	if (rank == 0)
		printf("%.6f %.9f\n", MPI_Wtime() - begun, quickest);
	MPI_Finalize();
	return all != all;
}

/* Fails if the last message of the last rank overtakes the others': rank 0 takes them in the order in which they
 * come, and its digest is that of the order. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define EACH 6

/* Now and then, so that no order is the usual one. */
static void dawdle(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_nsec / 1000 % 5 == 0)
		usleep(2000);
}

int main(int argc, char **argv)
{
	int rank, ranks, value, failed = 0;
	unsigned long digest = 5381;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < EACH; i++) {
		if (rank)
			dawdle();
		if (rank)
			MPI_Send(&rank, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
		for (int k = 1; k < ranks && !rank; k++) {
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
			digest = digest * 33 + (unsigned long)status.MPI_SOURCE;
			failed += i == EACH - 1 && k == 1 && status.MPI_SOURCE == ranks - 1;
			printf("%d ", status.MPI_SOURCE);
		}
	}
	if (!rank)
		printf("%lu\n", digest);
	MPI_Finalize();
	return failed ? 3 : 0;
}

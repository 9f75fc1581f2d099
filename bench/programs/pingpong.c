/* Two ranks send a message to and fro: pingpong BYTES TURNS [BYTES TURNS ...].
 * Rank 0 prints, for each size, the seconds of half a round trip: the median of ten parts of the
 * turns, so that a moment in which another process had the core does not count.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 10, TAG = 7 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void turn(char *buffer, int bytes, int rank)
{
	if (rank == 0) {
		MPI_Send(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
		MPI_Recv(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	}
}

static void measure(int rank, int bytes, int turns)
{
	double parts[PARTS];
	int each = turns / PARTS > 0 ? turns / PARTS : 1;
	char *buffer = malloc((size_t)bytes);

	memset(buffer, rank + 1, (size_t)bytes);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < each; i++)
		turn(buffer, bytes, rank);
	for (int p = 0; p < PARTS; p++) {
		double start = MPI_Wtime();
		for (int i = 0; i < each; i++)
			turn(buffer, bytes, rank);
		parts[p] = (MPI_Wtime() - start) / each / 2;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	if (rank == 0)
		printf("%d %.9e\n", bytes, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
	free(buffer);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank < 2)
		for (int i = 1; i + 1 < argc; i += 2)
			measure(rank, atoi(argv[i]), atoi(argv[i + 1]));
	MPI_Finalize();
	return 0;
}

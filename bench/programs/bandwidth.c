/* Ranks that keep the network busy: bandwidth KIND BYTES TURNS [BYTES TURNS ...].
 *   window    rank 0 has 64 nonblocking messages to rank 1 under way, which answers when it has them all
 *   halo      each rank sends to and receives from its two neighbours, nonblocking, and computes a little
 *   alltoall  MPI_Alltoall of so many bytes to each rank
 * Rank 0 prints, for each size, the seconds of one turn: the median of ten parts of the turns, so that a moment in
 * which another process had the core does not count.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 10, TAG = 7, WINDOW = 64 };

static int rank, ranks;

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void window(char *buffer, int bytes)
{
	MPI_Request requests[WINDOW];
	char answer = 0;

	if (rank > 1)
		return;
	for (int i = 0; i < WINDOW; i++)
		if (rank == 0)
			MPI_Isend(buffer + (size_t)i * bytes, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Irecv(buffer + (size_t)i * bytes, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
	if (rank == 0)
		MPI_Recv(&answer, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(&answer, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

/* The buffer: what goes left, what goes right, what comes from there. */
static void halo(char *buffer, int bytes)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
	MPI_Request requests[4];

	MPI_Irecv(buffer + 2 * (size_t)bytes, bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(buffer + 3 * (size_t)bytes, bytes, MPI_BYTE, right, TAG + 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(buffer, bytes, MPI_BYTE, left, TAG + 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(buffer + bytes, bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2 * bytes; i++)
		buffer[i] = (char)(buffer[i] + buffer[2 * (size_t)bytes + i]);
}

static void alltoall(char *buffer, int bytes)
{
	MPI_Alltoall(buffer, bytes, MPI_BYTE, buffer + (size_t)ranks * bytes, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void measure(void (*turn)(char *, int), size_t buffers, int bytes, int turns)
{
	double parts[PARTS];
	int each = turns / PARTS > 0 ? turns / PARTS : 1;
	char *buffer = malloc(buffers * (size_t)bytes);

	memset(buffer, rank + 1, buffers * (size_t)bytes);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < each; i++)
		turn(buffer, bytes);
	for (int p = 0; p < PARTS; p++) {
		double start = MPI_Wtime();
		for (int i = 0; i < each; i++)
			turn(buffer, bytes);
		parts[p] = (MPI_Wtime() - start) / each;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	if (rank == 0)
		printf("%d %.9e\n", bytes, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
	free(buffer);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 2; i + 1 < argc; i += 2)
		if (!strcmp(kind, "window"))
			measure(window, WINDOW, atoi(argv[i]), atoi(argv[i + 1]));
		else if (!strcmp(kind, "halo"))
			measure(halo, 4, atoi(argv[i]), atoi(argv[i + 1]));
		else
			measure(alltoall, 2 * (size_t)ranks, atoi(argv[i]), atoi(argv[i + 1]));
	MPI_Finalize();
	return 0;
}

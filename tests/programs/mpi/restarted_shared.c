/* For restarts: ranks that store into each other's parts of a window of MPI_Win_allocate_shared, each store between two
 * barriers.  Every rank prints a sum of what it has seen. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 8, PART = 100 };

int main(int argc, char **argv)
{
	int rank, size, unit;
	unsigned long sum = 0;
	long *part, *all;
	MPI_Aint bytes;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_allocate_shared(PART * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
	MPI_Win_shared_query(win, 0, &bytes, &unit, &all);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < PART; i++)
		part[i] = rank * 1000 + i;
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Win_sync(win);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_sync(win);
		for (int i = 0; i < PART * size; i++)
			sum = sum * 31 + (unsigned long)all[i];
		MPI_Barrier(MPI_COMM_WORLD);
		all[(rank + 1) % size * PART + round] += (long)(sum % 1000);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

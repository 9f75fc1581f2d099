/* Programs that look at window memory without calling MPI: what comes is seen, and replayed where it was seen. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#undef NDEBUG

enum { ROUNDS = 4, WORDS = 300 };

int main(void)
{
	long *base, data[WORDS], turns = 0, sum = 0;
	volatile long *flag;
	int rank, size, next;
	MPI_Win win;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	MPI_Win_allocate((WORDS + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	memset(base, 0, (WORDS + 1) * sizeof(long));
	flag = base; /* before the data, so that who looks in order of addresses sees it first */
	MPI_Win_lock_all(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (long round = 1; round <= ROUNDS; round++) {
		if (rank != 0 || round > 1)
			while (*flag != round - (rank == 0))
				turns++;
		for (int i = 0; i < WORDS && *flag; i++)
			assert(base[1 + i] == *flag * 1000 + i);
		sum += base[1];
		for (int i = 0; i < WORDS; i++)
			data[i] = round * 1000 + i;
		MPI_Put(data, WORDS, MPI_LONG, next, 1, WORDS, MPI_LONG, win);
		MPI_Win_flush(next, win);
		MPI_Put(&round, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
		MPI_Win_flush(next, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_free(&win);
	printf("%d: sum %ld, %s\n", rank, sum, turns ? "looked" : "never waited");
	MPI_Finalize();
	return 0;
}

/* Threads of rank 1 read the window of rank 0, each with its own flushes. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LOOPS = 50, N = 1024 };

static MPI_Win win;

static void *reads(void *wrong)
{
	for (int loop = 0; loop < LOOPS; loop++) {
		int *got = calloc(N, sizeof(int));

		MPI_Get(got, N, MPI_INT, 0, 0, N, MPI_INT, win);
		MPI_Win_flush_all(win);
		for (int i = 0; i < N; i++)
			*(int *)wrong += got[i] != i + 1;
		free(got);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int rank, level, *mine, wrong[THREADS] = {0}, all = 0;
	pthread_t threads[THREADS];

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	for (int i = 0; i < N; i++)
		mine[i] = i + 1;
	MPI_Win_fence(0, win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; rank == 1 && i < THREADS; i++)
		pthread_create(&threads[i], NULL, reads, &wrong[i]);
	for (int i = 0; rank == 1 && i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += wrong[i];
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	printf("%d: %d wrong\n", rank, all);
	MPI_Finalize();
	return 0;
}

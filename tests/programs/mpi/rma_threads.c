/* Windows in several threads: two increment counters of the next rank, one computes meanwhile. */
#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#undef NDEBUG
enum { TIMES = 20 };

static MPI_Win win;
static int rank, size, stop;

static void *increment(void *cell)
{
	const long one = 1;
	long old = -1;

	for (int i = 0; i < TIMES; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, (rank + 1) % size, (MPI_Aint)cell, MPI_SUM, win);
		MPI_Win_flush((rank + 1) % size, win);
		assert(old == i);
	}
	return NULL;
}

static void *compute(void *turns)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		++*(volatile long *)turns;
	return NULL;
}

int main(void)
{
	long *base, turns = 0;
	pthread_t computes, increments[2];
	int provided;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	assert(provided == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	base[0] = base[1] = 0;
	MPI_Win_lock_all(0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	pthread_create(&computes, NULL, compute, &turns);
	for (long i = 0; i < 2; i++)
		pthread_create(&increments[i], NULL, increment, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(increments[i], NULL);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(computes, NULL);
	assert(base[0] == TIMES && base[1] == TIMES);
	MPI_Win_free(&win);
	printf("%d: threads\n", rank);
	MPI_Finalize();
	return 0;
}

/* Memory that ranks of one machine share: MPI_Win_allocate_shared, by loads and stores and by one-sided calls. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>

#undef NDEBUG
#define N 100

int main(void)
{
	long *mine, *theirs, value;
	int rank, size, unit, next, flag, *flavor;
	MPI_Aint bytes;
	MPI_Win win;
	MPI_Comm node;

	MPI_Init(NULL, NULL);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &rank);
	MPI_Comm_size(node, &size);
	next = (rank + 1) % size;
	MPI_Win_allocate_shared((N + rank) * sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mine, &win);
	MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
	assert(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
	MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
	assert(bytes == (MPI_Aint)((N + next) * sizeof(long)) && unit == (int)sizeof(long));
	MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs);
	assert(bytes == (MPI_Aint)(N * sizeof(long)));
	MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < N; i++)
		mine[i] = rank * 1000 + i;
	MPI_Win_sync(win);
	MPI_Barrier(node);
	MPI_Win_sync(win);
	for (int i = 0; i < N; i++)
		assert(theirs[i] == next * 1000 + i);
	MPI_Barrier(node);
	theirs[0] = 100 + rank; /* into our neighbour's part, by a store */
	MPI_Win_sync(win);
	MPI_Barrier(node);
	MPI_Win_sync(win);
	assert(mine[0] == 100 + (rank + size - 1) % size);
	value = 0;
	MPI_Fetch_and_op(&(long){1}, &value, MPI_LONG, 0, 1, MPI_SUM, win);
	MPI_Win_flush_all(win);
	assert(value >= 1 && value < 1 + size);
	MPI_Win_unlock_all(win);
	MPI_Barrier(node);
	MPI_Win_fence(0, win);
	assert(rank || mine[1] == 1 + size);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Comm_free(&node);
	printf("%d: shared\n", rank);
	MPI_Finalize();
	return 0;
}

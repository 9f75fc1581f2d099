/* Windows that begin and end anywhere: at each byte of a line, and in memory that ranks share; asserts what it sees. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#undef NDEBUG
#define N 21

static int rank, size, next, prev;

/* Everyone puts to every other byte of its neighbour's window, which itself stores the ones between. */
static void exchange(MPI_Win win, char *base)
{
	MPI_Datatype odd;
	char out[N], in[N];
	int number = -1;

	MPI_Type_vector(N / 2, 1, 2, MPI_CHAR, &odd);
	MPI_Type_commit(&odd);
	memset(base, '.', N);
	memset(out, 'a' + rank, N);
	MPI_Win_fence(0, win);
	MPI_Put(out, 1, odd, next, 1, 1, odd, win);
	for (int i = 0; i < N; i += 2)
		base[i] = (char)('A' + rank);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		assert(base[i] == (i % 2 ? 'a' + prev : 'A' + rank));
	MPI_Get(in, N, MPI_CHAR, next, 0, N, MPI_CHAR, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		assert(in[i] == (i % 2 ? 'a' + rank : 'A' + next));
	memset(base, 0, N);
	MPI_Win_fence(0, win);
	for (int r = 0; r < size; r++)
		MPI_Accumulate(&(int){1}, 1, MPI_INT, r, 4, 1, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(0, win);
	memcpy(&number, base + 4, sizeof(number));
	assert(number == size && base[3] == 0 && base[8] == 0);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
	MPI_Put(&rank, 1, MPI_INT, next, 16, 1, MPI_INT, win);
	MPI_Win_unlock(next, win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	memcpy(&number, base + 16, sizeof(number));
	assert(number == prev && base[15] == 0 && base[20] == 0);
	MPI_Win_unlock(rank, win);
	MPI_Type_free(&odd);
}

/* Memory that shares pages with other attached memory, or none, is attached again after it was detached. */
static void attach_again(void)
{
	static char pages[3 * 4096] __attribute__((aligned(4096)));
	MPI_Win win;

	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	for (int turn = 0; turn < 2; turn++) {
		assert(MPI_Win_attach(win, pages, 4096) == MPI_SUCCESS);
		assert(MPI_Win_attach(win, pages + 4096, 4096 + 100) == MPI_SUCCESS);
		assert(MPI_Win_attach(win, pages + 8192 + 100, 100) == MPI_SUCCESS);
		assert(MPI_Win_detach(win, pages) == MPI_SUCCESS);
		assert(MPI_Win_detach(win, pages + 4096) == MPI_SUCCESS);
		assert(MPI_Win_detach(win, pages + 8192 + 100) == MPI_SUCCESS);
	}
	MPI_Win_free(&win);
}

int main(void)
{
	static char here[64] __attribute__((aligned(64)));
	char *base;
	MPI_Win win;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	prev = (rank + size - 1) % size;
	for (int at = 1; at <= 16; at++) {
		memset(here, '#', sizeof(here));
		MPI_Win_create(here + at, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		exchange(win, here + at);
		MPI_Win_free(&win);
		for (int i = 0; i < (int)sizeof(here); i++)
			assert((i >= at && i < at + N) || here[i] == '#');
	}
	MPI_Win_allocate(N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	exchange(win, base);
	MPI_Win_free(&win);
	for (int at = 0; at < 9; at += 4) { /* one rank's part begins where the other's ends */
		MPI_Win_allocate_shared(N + at, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
		MPI_Barrier(MPI_COMM_WORLD);
		exchange(win, base);
		MPI_Win_free(&win);
	}
	attach_again();
	printf("%d: places\n", rank);
	MPI_Finalize();
	return 0;
}

/* What is ordered by nonblocking collectives, fences and epochs of windows; persistent receives. */
#include <mpi.h>

static int rank, size, cell[4], seen;
static MPI_Win win;
static MPI_Request request;

__attribute__((noinline)) static void nonblocking(void)
{
	int one = rank, sum = 0;

	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	seen = 1; /* begun */
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	seen = 2; /* complete */
}

__attribute__((noinline)) static void fences(void)
{
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	if (rank == 0)
		MPI_Put(&rank, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
}

__attribute__((noinline)) static void epochs(void)
{
	MPI_Group world, others;
	int zero = 0, one = 1;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	if (rank == 0) {
		MPI_Group_incl(world, 1, &one, &others);
		MPI_Win_start(others, 0, win);
		MPI_Put(&size, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
		MPI_Win_complete(win);
		MPI_Group_free(&others);
	} else if (rank == 1) {
		MPI_Group_incl(world, 1, &zero, &others);
		MPI_Win_post(others, 0, win);
		MPI_Win_wait(win);
		MPI_Group_free(&others);
	}
	MPI_Group_free(&world);
}

/* Rank 0 first; rank 2 says that it is alone, so it has no lock. */
__attribute__((noinline)) static void locks(void)
{
	for (int turn = 0; turn < 3; turn++) {
		if (turn == rank) {
			MPI_Win_lock(rank ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, rank == 2 ? MPI_MODE_NOCHECK : 0,
				     win);
			MPI_Win_unlock(1, win);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_lock_all(0, win);
	MPI_Win_unlock_all(win);
}

__attribute__((noinline)) static void persistent(void)
{
	if (rank == 1) {
		MPI_Recv_init(&cell[2], 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
		for (int i = 0; i < 2; i++) {
			MPI_Start(&request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
		MPI_Request_free(&request);
	} else if (rank == 0) {
		for (int i = 0; i < 2; i++)
			MPI_Send(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_create(cell, sizeof(cell), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	nonblocking();
	fences();
	epochs();
	locks();
	persistent();
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}

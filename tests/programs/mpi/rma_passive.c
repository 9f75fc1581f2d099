/* Locks, post and start, atomics, requests, dynamic windows; and a race whose outcome only a replay knows. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG

static int rank, size;

/* Each increments a counter by lock, get, put, unlock; and one by an atomic: none may be lost. */
static void counters(void)
{
	int *base, mine = -1;
	MPI_Win win;

	MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
	for (int i = 0; i < 4; i++)
		base[i] = 0;
	MPI_Win_unlock(rank, win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 5; i++) {
		const int one = 1;
		int old = -1;

		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_flush(0, win);
		mine++;
		MPI_Put(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_unlock(0, win);
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		assert(old >= i && old < 5 * size);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(&mine, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
	MPI_Win_unlock(0, win);
	assert(mine == 5 * size);
	if (rank == 0) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		assert(base[0] == 5 * size && base[1] == 5 * size);
		MPI_Win_unlock(0, win);
	}
	MPI_Win_free(&win);
}

static void compare_and_swap(void)
{
	long cell = 0, sum[3] = {1, 2, 3}, got[3] = {-1, -1, -1}, result = -1;
	const long before = 0, mine = rank + 1;
	long *room;
	MPI_Request request[3];
	MPI_Win win;
	int winners;

	MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &room, &win);
	memcpy(room, (long[]){0, 10, 20, 30}, 4 * sizeof(long));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	MPI_Compare_and_swap(&mine, &before, &result, MPI_LONG, 0, 0, win);
	MPI_Win_flush_all(win);
	cell = result == 0;
	MPI_Allreduce(&cell, &result, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	winners = (int)result;
	assert(winners == 1);
	MPI_Get_accumulate(sum, 3, MPI_LONG, got, 3, MPI_LONG, (rank + 1) % size, 1, 3, MPI_LONG, MPI_SUM, win);
	MPI_Win_flush_local((rank + 1) % size, win);
	assert(got[0] == 10 && got[1] == 20 && got[2] == 30);
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
	assert(room[1] == 11 && room[2] == 22 && room[3] == 33);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Rget_accumulate(NULL, 0, MPI_LONG, got, 3, MPI_LONG, (rank + 1) % size, 1, 3, MPI_LONG, MPI_NO_OP, win,
			    &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	assert(got[0] == 11 && got[1] == 22 && got[2] == 33);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Rput(sum, 1, MPI_LONG, (rank + 1) % size, 1, 1, MPI_LONG, win, &request[0]);
	MPI_Raccumulate(sum, 1, MPI_LONG, (rank + 1) % size, 2, 1, MPI_LONG, MPI_PROD, win, &request[1]);
	MPI_Rget(&got[1], 1, MPI_LONG, (rank + 1) % size, 3, 1, MPI_LONG, win, &request[2]);
	MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
	assert(got[1] == 33);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	assert(room[1] == 1 && room[2] == 22);
	MPI_Win_unlock(rank, win);
	MPI_Win_free(&win);
}

/* A ring of post, start, put, complete, wait. */
static void ring(void)
{
	int in = -1, out = rank, next = (rank + 1) % size, prev = (rank + size - 1) % size, done = 0;
	MPI_Group all, to, from;
	MPI_Win win;

	MPI_Win_create(&in, sizeof(in), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &next, &to);
	MPI_Group_incl(all, 1, &prev, &from);
	for (int i = 0; i < 3; i++) {
		in = -1;
		MPI_Win_post(from, 0, win);
		MPI_Win_start(to, 0, win);
		out = rank * 10 + i;
		MPI_Put(&out, 1, MPI_INT, next, 0, 1, MPI_INT, win);
		MPI_Win_complete(win);
		if (i == 2)
			while (!done)
				MPI_Win_test(win, &done);
		else
			MPI_Win_wait(win);
		assert(in == prev * 10 + i);
	}
	MPI_Group_free(&all);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Win_free(&win);
}

static void dynamic(void)
{
	int *piece = malloc(100 * sizeof(int)), *other = malloc(50 * sizeof(int)), value = 77 + rank, got = -1;
	MPI_Aint at[2], *theirs = malloc(2 * size * sizeof(MPI_Aint));
	MPI_Win win;

	for (int i = 0; i < 100; i++)
		piece[i] = i;
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_attach(win, piece, 100 * sizeof(int));
	MPI_Win_attach(win, other, 50 * sizeof(int));
	MPI_Get_address(piece, &at[0]);
	MPI_Get_address(other, &at[1]);
	MPI_Allgather(at, 2, MPI_AINT, theirs, 2, MPI_AINT, MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, theirs[2 * ((rank + 1) % size)] + 5 * sizeof(int), 1, MPI_INT,
		win);
	MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, theirs[2 * ((rank + 1) % size)] + 6 * sizeof(int), 1, MPI_INT,
		win);
	MPI_Win_flush_all(win);
	assert(got == 6);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	assert(piece[5] == 77 + (rank + size - 1) % size && piece[4] == 4 && piece[6] == 6);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_detach(win, piece);
	MPI_Win_detach(win, other);
	MPI_Win_free(&win);
	free(piece);
	free(other);
	free(theirs);
}

/* A window too large to be compared at every call; messages say what is there (MPI_WIN_UNIFIED). */
static void messages(void)
{
	enum { WORDS = 20000 };
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	long *base, value = rank * 100, got = -1, other;
	MPI_Request request;
	MPI_Win win;

	MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_lock_all(0, win);
	for (int round = 1; round <= 3; round++) {
		int at = WORDS - round;

		value = rank * 100 + round;
		MPI_Irecv(&other, 1, MPI_LONG, prev, 0, MPI_COMM_WORLD, &request);
		MPI_Put(&value, 1, MPI_LONG, next, at, 1, MPI_LONG, win);
		MPI_Win_flush(next, win);
		MPI_Send(&value, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
		for (int done = 0; !done;)
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		assert(other == prev * 100 + round && base[at] == other);
		base[round] = value + 7; /* a store; its message follows */
		MPI_Sendrecv(&value, 1, MPI_LONG, prev, 1, &other, 1, MPI_LONG, next, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Get(&got, 1, MPI_LONG, next, round, 1, MPI_LONG, win);
		MPI_Win_flush(next, win);
		assert(got == next * 100 + round + 7);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

/* Everybody writes its rank to the same place; the order is the network's. */
static unsigned race(void)
{
	unsigned order = 0;
	int *base, seen = -1;
	MPI_Win win;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	*base = -1;
	MPI_Win_fence(0, win);
	for (int i = 0; i < 20; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_flush(0, win);
		order = order * 31 + (unsigned)(seen + 1);
		MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Win_free(&win);
	return order;
}

int main(int argc, char **argv)
{
	unsigned order;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc == 1) {
		counters();
		compare_and_swap();
		ring();
		dynamic();
		messages();
	}
	order = race();
	if (argc > 1)
		printf("%d: order %08x\n", rank, order);
	else
		printf("%d: passive\n", rank);
	MPI_Finalize();
	return 0;
}

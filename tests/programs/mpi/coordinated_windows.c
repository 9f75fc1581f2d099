/* Ranks with windows of three kinds when rank 0 waits, computing, for a file that a test makes: one used between
 * fences, one in an epoch of MPI_Win_lock_all that never ends, with operations begun and not flushed, and one for posts,
 * starts and exclusive locks.  argv: steps, gate.  Each rank prints a sum that tells whether anything was lost or came
 * twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIELD = 100 };

static void wait_for(const char *gate)
{
	printf("half\n");
	fflush(stdout);
	while (access(gate, F_OK))
		for (volatile int k = 0; k < 1000000; k++)
			;
}

static void neighbours(MPI_Win win, MPI_Group left, MPI_Group right, int to, const long *what)
{
	MPI_Win_post(left, 0, win);
	MPI_Win_start(right, 0, win);
	MPI_Put(what, FIELD, MPI_LONG, to, sizeof(long), FIELD, MPI_LONG, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
}

/* How often anybody has been here, and who was here last. */
static long counted(MPI_Win win, int rank)
{
	long before = 0, now;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Get(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
	MPI_Win_flush(0, win);
	now = before + rank + 1;
	MPI_Put(&now, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
	MPI_Win_unlock(0, win);
	return before;
}

int main(int argc, char **argv)
{
	const int steps = atoi(argv[1]);
	static long fenced[FIELD], mine[FIELD];
	long *all, *pair, total, token = 0;
	int rank, size, left, right;
	MPI_Win fences, locks, pairs;
	MPI_Group world, before, after;
	unsigned long sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &left, &before);
	MPI_Group_incl(world, 1, &right, &after);
	MPI_Win_create(fenced, sizeof(fenced), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &fences);
	MPI_Win_allocate(FIELD * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all, &locks);
	MPI_Win_allocate((FIELD + 1) * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &pair, &pairs);
	for (int i = 0; i < FIELD; i++)
		all[i] = mine[i] = pair[i] = rank * 1000 + i;
	pair[0] = pair[FIELD] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, locks);
	MPI_Win_fence(0, fences);
	for (int s = 0; s < steps; s++) {
		MPI_Put(mine, FIELD, MPI_LONG, right, 0, FIELD, MPI_LONG, fences);
		MPI_Win_fence(0, fences);
		sum = sum * 31 + (unsigned long)fenced[s % FIELD];
		MPI_Win_fence(MPI_MODE_NOPRECEDE, fences);
		MPI_Accumulate(mine, FIELD, MPI_LONG, right, 0, FIELD, MPI_LONG, MPI_SUM, locks);
		if (s == steps / 2) {
			if (rank == 0) {
				wait_for(argv[2]);
				for (int to = 1; to < size; to++)
					MPI_Send(&token, 1, MPI_LONG, to, 1, MPI_COMM_WORLD);
			} else {
				MPI_Recv(&token, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			}
		}
		MPI_Win_flush_all(locks);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_sync(locks);
		sum = sum * 31 + (unsigned long)all[s % FIELD];
		total = 0;
		MPI_Win_sync(locks);
		for (int i = 0; i < FIELD; i++)
			mine[i] = mine[i] * 7 % 1000003 + rank;
		MPI_Barrier(MPI_COMM_WORLD);
		neighbours(pairs, before, after, right, mine);
		sum = sum * 31 + (unsigned long)pair[s % FIELD];
		MPI_Barrier(MPI_COMM_WORLD);
		counted(pairs, rank);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, pairs);
		MPI_Get(&total, 1, MPI_LONG, 0, 0, 1, MPI_LONG, pairs);
		MPI_Win_unlock(0, pairs);
		sum = sum * 31 + (unsigned long)total;
	}
	printf("rank %d sum %lu total %ld\n", rank, sum, total);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, fences);
	MPI_Win_unlock_all(locks);
	MPI_Win_free(&fences);
	MPI_Win_free(&locks);
	MPI_Win_free(&pairs);
	MPI_Finalize();
	return 0;
}

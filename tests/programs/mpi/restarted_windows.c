/* For restarts: windows of the program's memory, of MPI's and dynamic ones; fences, locks, post and start; what
 * operations may not be done twice.  Every rank prints a sum of all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, LENGTH = 16 };

static unsigned long sum;

static void add(const long *from, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + (unsigned long)from[i];
}

int main(int argc, char **argv)
{
	int rank, size, left, right;
	long fenced[LENGTH], out[LENGTH], *counter, *locked, got, zero = 0, one = 1, attached[4] = {0};
	MPI_Win fences, counters, all, dynamic;
	MPI_Group world, targets, origins;
	MPI_Aint address, theirs;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	sum = (unsigned long)rank;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &right, &targets);
	MPI_Group_incl(world, 1, &left, &origins);
	for (int i = 0; i < LENGTH; i++)
		fenced[i] = rank + i;
	MPI_Win_create(fenced, sizeof(fenced), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &fences);
	MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &counters);
	MPI_Win_allocate(LENGTH * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &locked, &all);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
	MPI_Win_attach(dynamic, attached, sizeof(attached));
	MPI_Get_address(attached, &address);
	MPI_Sendrecv(&address, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	counter[0] = counter[1] = 0;
	for (int i = 0; i < LENGTH; i++)
		locked[i] = i;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, all);
	MPI_Win_fence(0, fences);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < LENGTH; i++)
			out[i] = (long)(sum % 1000) + round + i;
		MPI_Put(out, 4, MPI_LONG, right, 0, 4, MPI_LONG, fences);
		MPI_Accumulate(out, 4, MPI_LONG, left, 4, 4, MPI_LONG, MPI_SUM, fences);
		MPI_Win_fence(0, fences);
		add(fenced, LENGTH);
		fenced[8] += rank;
		MPI_Win_fence(0, fences);
		/* a counter by hand, and one that is atomic */
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, counters);
		MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, counters);
		MPI_Win_flush(0, counters);
		got++;
		MPI_Put(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, counters);
		MPI_Win_unlock(0, counters);
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counters);
		MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 1, MPI_SUM, counters);
		MPI_Win_unlock(0, counters);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counters);
		MPI_Get(out, 2, MPI_LONG, 0, 0, 2, MPI_LONG, counters);
		MPI_Win_unlock(0, counters);
		MPI_Barrier(MPI_COMM_WORLD);
		add(out, 2);
		/* an epoch that never ends */
		out[0] = (long)(sum % 100);
		MPI_Rput(out, 1, MPI_LONG, right, round, 1, MPI_LONG, all, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Get_accumulate(&zero, 1, MPI_LONG, &got, 1, MPI_LONG, left, 15, 1, MPI_LONG, MPI_NO_OP, all);
		MPI_Win_flush_all(all);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_sync(all);
		add(locked, LENGTH);
		add(&got, 1);
		MPI_Barrier(MPI_COMM_WORLD);
		/* post and start */
		MPI_Win_post(origins, 0, dynamic);
		MPI_Win_start(targets, 0, dynamic);
		out[0] = (long)(sum % 77);
		MPI_Put(out, 1, MPI_LONG, right, theirs, 1, MPI_LONG, dynamic);
		MPI_Win_complete(dynamic);
		MPI_Win_wait(dynamic);
		add(attached, 1);
	}
	MPI_Win_fence(MPI_MODE_NOSUCCEED, fences);
	MPI_Win_unlock_all(all);
	MPI_Win_detach(dynamic, attached);
	MPI_Win_free(&dynamic);
	MPI_Win_free(&all);
	MPI_Win_free(&counters);
	MPI_Win_free(&fences);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

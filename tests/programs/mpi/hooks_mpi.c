/* Ranks with callbacks that exchange messages.  argv: steps, the step from which on they wait for a file; `apart`: ranks
 * come to different numbers of safe points. The callbacks call MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "rdb.h"

static int rank, nranks, calls[3];

/* All ranks are at the same safe point. */
static int on_call(void *data)
{
	int all = 0, one = 1;
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	++*(int *)data;
	return all != nranks;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	const int steps = atoi(argv[1]), gate = atoi(argv[2]), apart = argc > 4 && rank == 0;
	const enum rdb_when when[] = {RDB_BEFORE_CHECKPOINT, RDB_AFTER_CHECKPOINT, RDB_AFTER_RESTART};
	for (int i = 0; i < 3; i++)
		rdb_on(when[i], on_call, &calls[i]);
	double sum = rank, got;
	for (int step = 0; step < steps; step++) {
		const int next = (rank + 1) % nranks, before = (rank + nranks - 1) % nranks;
		if (step == gate && rank == 0)
			puts("half"), fflush(stdout);
		MPI_Sendrecv(&sum, 1, MPI_DOUBLE, next, 0, &got, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		sum = sum * 0.75 + got * 0.25 + step;
		if (!apart || step % 2)
			rdb_safe_point();
		if (step >= gate) { /* rank 0 says how long all wait */
			int there = access(argv[3], F_OK) == 0;
			MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
			if (!there && step == steps - 1)
				step--;
		}
	}
	printf("rank %d: generation %d, before %d, after %d, restarts %d\n", rank, rdb_generation(), calls[0] > 0,
	       calls[1] > 0, calls[2]);
	MPI_Finalize();
	return 0;
}

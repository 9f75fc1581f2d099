/* A rod that cools, in blocks of rows, and a table whose rows the ranks take two at a time.  Arguments: a step after which
 * the job's first life asks for a checkpoint, and the rows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rdb.h"

enum { STEPS = 24, CYCLE = 2 };
struct row {
	double at[3];
};

static int rank, ranks;

static void exchange(double *u, long n)
{
	const int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	u[0] = u[n + 1] = 0;
	MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 1, &u[n + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Sendrecv(&u[n], 1, MPI_DOUBLE, right, 2, &u[0], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each row has one rank: the others add zeros. */
static unsigned long sum_of(const void *rows, struct rdb_rows part, size_t row, long total)
{
	char *mine = calloc((size_t)total, row), *all = malloc((size_t)total * row);
	unsigned long sum = 14695981039346656037ul;
	for (long i = 0; i < part.number; i++)
		memcpy(mine + (part.first + i / part.block * part.step + i % part.block) * (long)row,
		       (const char *)rows + i * (long)row, row);
	MPI_Allreduce(mine, all, (int)(total * (long)row), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
	for (long i = 0; i < total * (long)row; i++)
		sum = (sum ^ (unsigned char)all[i]) * 1099511628211ul;
	free(mine);
	free(all);
	return sum;
}

int main(int argc, char **argv)
{
	const long asks = argc > 1 ? atol(argv[1]) : 0, total = argc > 2 ? atol(argv[2]) : 101;
	const struct rdb_rows once = {0, 1, 1, 1};
	long step = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const struct rdb_rows rod = rdb_block(total, rank, ranks), table = rdb_cyclic(total, CYCLE, rank, ranks);
	double *u = calloc((size_t)rod.number + 2, sizeof(*u)), *next = calloc((size_t)rod.number + 2, sizeof(*next));
	struct row *rows = calloc((size_t)table.number + 1, sizeof(*rows));
	const int anew = rdb_redistribute("step", &step, sizeof(step), once);
	if (anew) {
		for (long i = 0; i < rod.number; i++)
			u[i + 1] = (double)((rod.first + i) % 17);
		for (long i = 0; i < table.number; i++)
			rows[i].at[1] = 1. / (double)(table.first + i / CYCLE * table.step + i % CYCLE + 1);
	} else if (rdb_redistribute("rod", u + 1, sizeof(*u), rod) ||
		   rdb_redistribute("table", rows, sizeof(*rows), table)) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	/* no such array, rows of another size, rows behind the end */
	if (!rdb_redistribute("rods", u, sizeof(*u), rod) || !rdb_redistribute("rod", u, 1, rod) ||
	    !rdb_redistribute("rod", u, sizeof(*u), (struct rdb_rows){total, 1, 1, 1}))
		MPI_Abort(MPI_COMM_WORLD, 4);
	rdb_distribute("step", &step, sizeof(step), once);
	rdb_distribute("rod", u + 1, sizeof(*u), rod);
	rdb_distribute("table", rows, sizeof(*rows), table);
	if (!rank)
		printf("%d ranks from step %ld on\n", ranks, step);
	for (long asked = anew ? asks : asks + 8; step < STEPS;) {
		exchange(u, rod.number);
		for (long i = 1; i <= rod.number; i++)
			next[i] = u[i] + .25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
		memcpy(u + 1, next + 1, (size_t)rod.number * sizeof(*u));
		for (long i = 0; i < table.number; i++)
			rows[i].at[step % 3] += rows[i].at[1] * .5;
		step++;
		if (asks && step == asked && !rank)
			rdb_checkpoint();
		else
			rdb_safe_point();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	const unsigned long one = sum_of(u + 1, rod, sizeof(*u), total), other = sum_of(rows, table, sizeof(*rows), total);
	if (!rank)
		printf("rod %lx table %lx\n", one, other);
	MPI_Finalize();
	return 0;
}

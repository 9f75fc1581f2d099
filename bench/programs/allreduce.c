/* All ranks add up doubles: allreduce BYTES TURNS [BYTES TURNS ...].
 * Rank 0 prints, for each size, the seconds of one call: the median of ten parts of the turns.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 10 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void add(double *in, double *out, int count, int turns)
{
	for (int i = 0; i < turns; i++) {
		in[0] += 1; /* no two calls alike: those would be one record */
		MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void measure(int rank, int bytes, int turns)
{
	int count = bytes / (int)sizeof(double), each = turns / PARTS > 0 ? turns / PARTS : 1;
	double parts[PARTS], *in = calloc((size_t)count, sizeof(double)), *out = calloc((size_t)count, sizeof(double));

	for (int i = 0; i < count; i++)
		in[i] = rank + i;
	MPI_Barrier(MPI_COMM_WORLD);
	add(in, out, count, each);
	for (int p = 0; p < PARTS; p++) {
		double start = MPI_Wtime();

		add(in, out, count, each);
		parts[p] = (MPI_Wtime() - start) / each;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	if (rank == 0)
		printf("%d %.9e\n", bytes, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i + 1 < argc; i += 2)
		measure(rank, atoi(argv[i]), atoi(argv[i + 1]));
	MPI_Finalize();
	return 0;
}

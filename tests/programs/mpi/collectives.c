/* Blocking collectives, in place and not, with predefined and user operations. */
#include <complex.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 5
static int rank, size;
static int calls;

static void show(const char *what, const int *data, int n)
{
	printf("%d: %s", rank, what);
	for (int i = 0; i < n; i++)
		printf(" %d", data[i]);
	printf("\n");
}

/* Not commutative: 2x2 matrices of ints, row by row. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
	int (*a)[4] = in, (*b)[4] = inout, bytes;

	MPI_Type_size(*type, &bytes);       /* MPI inside the function of an operation */
	for (int i = 0; i < *len; i++) {
		int c[4] = {
			a[i][0] * b[i][0] + a[i][1] * b[i][2], a[i][0] * b[i][1] + a[i][1] * b[i][3],
			a[i][2] * b[i][0] + a[i][3] * b[i][2], a[i][2] * b[i][1] + a[i][3] * b[i][3],
		};

		memcpy(b[i], c, sizeof(c));
	}
	calls += bytes == 16;
}

static void largest(void *in, void *inout, int *len, MPI_Datatype *type)
{
	double *a = in, *b = inout;

	if (*type != MPI_DOUBLE)
		MPI_Abort(MPI_COMM_WORLD, 5);
	for (int i = 0; i < *len; i++)
		b[i] = a[i] > b[i] ? a[i] : b[i];
}

static void user_operations(void)
{
	int mine[3][4], all[3][4];
	double x[300], y[300];
	MPI_Datatype matrix;
	MPI_Op op, other;
	int commutes;

	MPI_Type_contiguous(4, MPI_INT, &matrix);
	MPI_Type_commit(&matrix);
	MPI_Op_create(multiply, 0, &op);
	MPI_Op_create(largest, 1, &other);
	MPI_Op_commutative(op, &commutes);
	for (int i = 0; i < 3; i++)
		memcpy(mine[i], (int[4]){ 1, rank + i, rank % 2, 1 }, sizeof(mine[i]));
	memset(all, 0, sizeof(all));
	MPI_Reduce(mine, all, 3, matrix, op, 0, MPI_COMM_WORLD);
	show("reduce user", &all[0][0], 12);
	MPI_Allreduce(mine, all, 3, matrix, op, MPI_COMM_WORLD);
	show("allreduce user", &all[0][0], 12);
	MPI_Scan(mine, all, 3, matrix, op, MPI_COMM_WORLD);
	show("scan user", &all[0][0], 12);
	MPI_Allreduce(MPI_IN_PLACE, mine, 3, matrix, op, MPI_COMM_WORLD);
	show("in place user", &mine[0][0], 12);
	MPI_Reduce_local(mine, all, 3, matrix, op);
	show("local user", &all[0][0], 12);
	for (int i = 0; i < 300; i++)
		x[i] = (rank * 31 + i * 17) % 100;
	MPI_Allreduce(x, y, 300, MPI_DOUBLE, other, MPI_COMM_WORLD);
	printf("%d: largest %g %g commutes %d calls %s\n", rank, y[0], y[299], commutes,
	       calls ? "some" : "none");
	MPI_Op_free(&op);
	MPI_Op_free(&other);
	printf("%d: op null %d\n", rank, op == MPI_OP_NULL);
	MPI_Type_free(&matrix);
}

static void moves(void)
{
	int *big = calloc(size * N, sizeof(int)), *other = calloc(size * N, sizeof(int));
	int *counts = malloc(size * sizeof(int)), *displs = malloc(size * sizeof(int));
	int mine[N], last = size - 1, at = 0;

	for (int i = 0; i < N; i++)
		mine[i] = rank * 10 + i;
	if (rank == last)
		for (int i = 0; i < size * N; i++)
			big[i] = 100 + i;
	MPI_Bcast(big, size * N, MPI_INT, last, MPI_COMM_WORLD);
	show("bcast", big, size * N);
	MPI_Gather(mine, N, MPI_INT, other, N, MPI_INT, last, MPI_COMM_WORLD);
	show("gather", other, size * N);
	MPI_Scatter(big, N, MPI_INT, mine, N, MPI_INT, last, MPI_COMM_WORLD);
	show("scatter", mine, N);
	if (rank == 0)
		MPI_Scatter(big, N, MPI_INT, MPI_IN_PLACE, N, MPI_INT, 0, MPI_COMM_WORLD);
	else
		MPI_Scatter(NULL, 0, MPI_INT, mine, N, MPI_INT, 0, MPI_COMM_WORLD);
	show("scatter in place", mine, N);
	MPI_Allgather(mine, N, MPI_INT, other, N, MPI_INT, MPI_COMM_WORLD);
	show("allgather", other, size * N);
	MPI_Alltoall(big, N, MPI_INT, other, N, MPI_INT, MPI_COMM_WORLD);
	show("alltoall", other, size * N);
	MPI_Alltoall(MPI_IN_PLACE, N, MPI_INT, big, N, MPI_INT, MPI_COMM_WORLD);
	show("alltoall in place", big, size * N);

	for (int i = 0; i < size; i++) {
		counts[i] = 1 + i % N;
		displs[i] = at;
		at += counts[i];
	}
	memset(other, 0, size * N * sizeof(int));
	MPI_Gatherv(mine, counts[rank], MPI_INT, other, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
	show("gatherv", other, at);
	MPI_Scatterv(big, counts, displs, MPI_INT, mine, counts[rank], MPI_INT, last, MPI_COMM_WORLD);
	show("scatterv", mine, N);
	MPI_Allgatherv(mine, counts[rank], MPI_INT, other, counts, displs, MPI_INT, MPI_COMM_WORLD);
	show("allgatherv", other, at);
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = size - 1 - i;
	}
	MPI_Alltoallv(big, counts, displs, MPI_INT, other, counts, displs, MPI_INT, MPI_COMM_WORLD);
	show("alltoallv", other, size);
	MPI_Datatype *types = malloc(size * sizeof(*types));

	for (int i = 0; i < size; i++) {
		types[i] = MPI_INT;
		displs[i] = i * 4;
	}
	MPI_Alltoallw(big, counts, displs, types, other, counts, displs, types, MPI_COMM_WORLD);
	show("alltoallw", other, size);
	free(types);
	free(big);
	free(other);
	free(counts);
	free(displs);
}

static void reductions(void)
{
	int mine[N], all[N], *counts = malloc(size * sizeof(int)), *big = malloc(size * 2 * sizeof(int));
	struct { double value; int where; } best, one = { (rank * 7) % 5, rank };
	double complex z = rank + 1 + I * rank, product;

	memset(all, 0, sizeof(all));
	for (int i = 0; i < N; i++)
		mine[i] = (rank + 1) * (i + 1);
	MPI_Reduce(mine, all, N, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
	show("reduce", all, N);
	MPI_Reduce(rank ? mine : MPI_IN_PLACE, mine, N, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	show("reduce in place", mine, N);
	MPI_Allreduce(mine, all, N, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
	show("allreduce", all, N);
	MPI_Scan(mine, all, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	show("scan", all, N);
	MPI_Exscan(mine, all, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank)
		show("exscan", all, N);
	for (int i = 0; i < size; i++)
		counts[i] = 2;
	for (int i = 0; i < size * 2; i++)
		big[i] = rank * i;
	MPI_Reduce_scatter(big, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	show("reduce_scatter", all, 2);
	MPI_Reduce_scatter_block(MPI_IN_PLACE, big, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	show("reduce_scatter_block", big, 2);
	MPI_Allreduce(&one, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	MPI_Allreduce(&z, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
	printf("%d: best %g at %d, product %g %g\n", rank, best.value, best.where, creal(product),
	       cimag(product));
	free(counts);
	free(big);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	printf("%d: provided %d\n", rank, provided);
	MPI_Barrier(MPI_COMM_WORLD);
	moves();
	reductions();
	user_operations();
	MPI_Finalize();
	return 0;
}

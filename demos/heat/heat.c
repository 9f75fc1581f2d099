/* heat: how heat spreads through a plate of two materials, on any number of MPI ranks.
 *
 *	mpirun -n 4 ./heat [SIZE [STEPS]]
 *
 * The plate is SIZE x SIZE cells, insulated all around, so no heat may come or go: the total is
 * checked every few steps.  Each rank owns a strip of rows.  A strip needs the row of its neighbour
 * above and of its neighbour below: their temperatures in every step, and their conductivities, which
 * change as the plate warms, now and then.
 */
#include <assert.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE 1024
#define CHECK_EVERY 10 /* steps between two checks of the total */
#define MELT_EVERY 150 /* steps after which the material is looked at again */

enum { TAG_DOWN = 1, TAG_UP, TAG_MATERIAL };

/* The conductivities of one row, as neighbours send them to each other. */
struct edge {
	int row; /* which row of the plate this is */
	double conductivity[MAX_SIZE];
};

static int size = 128, steps = 300, rank, ranks;
static int first, rows;          /* this rank's strip: rows first .. first + rows - 1 */
static double *now, *next;       /* temperatures: rows 1 .. rows are ours, 0 and rows + 1 not */
static double *material;         /* conductivities, laid out alike */
static struct edge above, below; /* the neighbours' conductivities */
static double total_at_start, total;

static double *row_of(double *field, int row)
{
	return field + (size_t)row * (size_t)size;
}

static int has_above(void)
{
	return rank > 0;
}

static int has_below(void)
{
	return rank < ranks - 1;
}

/* Conductivities from temperatures: warm cells have molten. */
static void melt(int from, int to)
{
	for (int r = from; r <= to; r++)
		for (int c = 0; c < size; c++) {
			double t = row_of(now, r)[c];
			row_of(material, r)[c] = t > 40 ? .2 : .05 + .001 * t;
		}
}

static void set_up(void)
{
	first = (int)((long)size * rank / ranks);
	rows = (int)((long)size * (rank + 1) / ranks) - first;
	size_t cells = (size_t)(rows + 2) * (size_t)size;
	now = calloc(cells, sizeof(double));
	next = calloc(cells, sizeof(double));
	material = calloc(cells, sizeof(double));
	if (!now || !next || !material) {
		fprintf(stderr, "heat: out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int r = 0; r <= rows + 1; r++)
		for (int c = 0; c < size; c++) {
			double y = (double)(first + r - 1) / size, x = (double)c / size;
			row_of(now, r)[c] = 20 + 80 * exp(-20 * ((x - .4) * (x - .4) + (y - .3) * (y - .3)));
		}
	melt(0, rows + 1);
	below.row = first + rows;
	above.row = first - 1;
}

static void fill_edge(struct edge *edge, int row)
{
	edge->row = first + row - 1;
	memcpy(edge->conductivity, row_of(material, row), (size_t)size * sizeof(double));
}

/* Looks at the material anew and tells the neighbours the conductivities of the outer rows. */
static void exchange_material(void)
{
	static struct edge top, bottom;
	MPI_Request requests[4];
	int n = 0;

	if (has_above())
		MPI_Irecv(&above, sizeof(above), MPI_BYTE, MPI_ANY_SOURCE, TAG_MATERIAL, MPI_COMM_WORLD,
			  &requests[n++]);
	if (has_below())
		MPI_Irecv(&below, sizeof(below), MPI_BYTE, MPI_ANY_SOURCE, TAG_MATERIAL, MPI_COMM_WORLD,
			  &requests[n++]);
	melt(1, rows);
	fill_edge(&top, 1);
	fill_edge(&bottom, rows);
	if (has_below())
		MPI_Isend(&bottom, sizeof(bottom), MPI_BYTE, rank + 1, TAG_MATERIAL, MPI_COMM_WORLD, &requests[n++]);
	if (has_above())
		MPI_Isend(&top, sizeof(top), MPI_BYTE, rank - 1, TAG_MATERIAL, MPI_COMM_WORLD, &requests[n++]);
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);

	memcpy(row_of(material, 0), above.conductivity, (size_t)size * sizeof(double));
	memcpy(row_of(material, rows + 1), below.conductivity, (size_t)size * sizeof(double));
}

static void exchange_temperatures(void)
{
	int up = has_above() ? rank - 1 : MPI_PROC_NULL;
	int down = has_below() ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(row_of(now, rows), size, MPI_DOUBLE, down, TAG_DOWN, row_of(now, 0), size, MPI_DOUBLE, up,
		     TAG_DOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(row_of(now, 1), size, MPI_DOUBLE, up, TAG_UP, row_of(now, rows + 1), size, MPI_DOUBLE, down,
		     TAG_UP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Heat that flows from cell b into cell a. */
static double flow(double *a, double *b, int ca, int cb, double *ka, double *kb)
{
	double conductivity = 2 * ka[ca] * kb[cb] / (ka[ca] + kb[cb]);
	return conductivity * (b[cb] - a[ca]);
}

static void diffuse(void)
{
	for (int r = 1; r <= rows; r++) {
		double *here = row_of(now, r), *k = row_of(material, r);
		int top = first + r - 1 == 0, bottom = first + r == size;
		for (int c = 0; c < size; c++) {
			double in = 0;
			if (c > 0)
				in += flow(here, here, c, c - 1, k, k);
			if (c < size - 1)
				in += flow(here, here, c, c + 1, k, k);
			if (!top)
				in += flow(here, row_of(now, r - 1), c, c, k, row_of(material, r - 1));
			if (!bottom)
				in += flow(here, row_of(now, r + 1), c, c, k, row_of(material, r + 1));
			row_of(next, r)[c] = here[c] + in;
		}
	}
	double *swap = now;
	now = next;
	next = swap;
}

static double total_heat(void)
{
	double mine = 0, all;
	for (int r = 1; r <= rows; r++)
		for (int c = 0; c < size; c++)
			mine += row_of(now, r)[c];
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc > 1)
		size = atoi(argv[1]);
	if (argc > 2)
		steps = atoi(argv[2]);
	if (size < ranks || size > MAX_SIZE || steps < 1) {
		if (rank == 0)
			fprintf(stderr, "usage: heat [SIZE [STEPS]], SIZE from the number of ranks to %d\n", MAX_SIZE);
		MPI_Finalize();
		return 2;
	}

	set_up();
	total = total_at_start = total_heat();
	for (int step = 0; step < steps; step++) {
		if (step > 0 && step % MELT_EVERY == 0)
			exchange_material();
		exchange_temperatures();
		diffuse();
		if (step % CHECK_EVERY == CHECK_EVERY - 1) {
			total = total_heat();
			assert(fabs(total - total_at_start) < 1e-9 * total_at_start);
		}
	}
	if (rank == 0)
		printf("heat: %d x %d cells, %d steps, total heat %.6f, as at the start\n", size, size, steps, total);
	MPI_Finalize();
	return 0;
}

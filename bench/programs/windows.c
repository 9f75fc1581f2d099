/* Two ranks send windows of nonblocking messages: windows one|both plain|vector BYTES TURNS [BYTES TURNS ...].
 * one: rank 0 sends and rank 1 receives; both: each does both.  vector: every other double.
 * Rank 0 prints, for each size, the seconds of one window: the median of ten parts of the turns, so
 * that a moment in which another process had the core does not count.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 10, WINDOW = 64, TAG = 7 };

struct message {
	char *sent, *received; /* NULL: this rank does not */
	size_t step;           /* bytes from one message to the next */
	int count;
	MPI_Datatype type;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void window(const struct message *m, int other)
{
	MPI_Request requests[2 * WINDOW];
	int n = 0;

	for (int i = 0; m->received && i < WINDOW; i++)
		MPI_Irecv(m->received + i * m->step, m->count, m->type, other, TAG, MPI_COMM_WORLD, &requests[n++]);
	for (int i = 0; m->sent && i < WINDOW; i++)
		MPI_Isend(m->sent + i * m->step, m->count, m->type, other, TAG, MPI_COMM_WORLD, &requests[n++]);
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	/* the next window's receives are posted before it is sent */
	if (m->sent && m->received)
		return;
	if (m->received)
		MPI_Send(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
	else
		MPI_Recv(NULL, 0, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static char *filled(size_t bytes, int value)
{
	char *memory = malloc(bytes);

	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(memory, value, bytes);
	return memory;
}

static void measure(int rank, int both, int vector, int bytes, int turns)
{
	const size_t step = (size_t)bytes * (vector ? 2 : 1);
	struct message m = {.step = step, .count = bytes, .type = MPI_BYTE};
	double parts[PARTS];
	int each = turns / PARTS > 0 ? turns / PARTS : 1;

	if (vector) {
		m.count = 1;
		MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &m.type);
		MPI_Type_commit(&m.type);
	}
	if (both || rank == 0)
		m.sent = filled(WINDOW * step, rank + 1);
	if (both || rank == 1)
		m.received = filled(WINDOW * step, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < each; i++)
		window(&m, !rank);
	for (int p = 0; p < PARTS; p++) {
		double start = MPI_Wtime();
		for (int i = 0; i < each; i++)
			window(&m, !rank);
		parts[p] = (MPI_Wtime() - start) / each;
	}
	qsort(parts, PARTS, sizeof(*parts), ascending);
	if (rank == 0)
		printf("%d %.9e\n", bytes, (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
	if (vector)
		MPI_Type_free(&m.type);
	free(m.sent);
	free(m.received);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank < 2 && argc > 2)
		for (int i = 3; i + 1 < argc; i += 2)
			measure(rank, !strcmp(argv[1], "both"), !strcmp(argv[2], "vector"), atoi(argv[i]),
				atoi(argv[i + 1]));
	MPI_Finalize();
	return 0;
}

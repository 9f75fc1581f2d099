/* Messages of a few KB by all kinds of calls: what --record=order leaves out of the log.  An argument makes the data
 * other data; `die`: rank 1 is killed at the end, while the others wait for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000
#define LARGE 50000
#define ROUNDS 10

static int rank, size, seed;
static double in[LARGE], out[LARGE], more[N * 8];
static unsigned long sum;

static void look(const double *data, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + (unsigned long)data[i];
}

static void fill(int round)
{
	for (int i = 0; i < LARGE; i++)
		out[i] = seed * 7 + rank * 1000 + round * 10 + i;
}

static void exchanges(int round)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Request requests[4];
	MPI_Status statuses[4];
	int index, flag = 0;

	MPI_Sendrecv(out, N, MPI_DOUBLE, next, round, in, N, MPI_DOUBLE, before, MPI_ANY_TAG, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	look(in, N);
	MPI_Irecv(in, LARGE, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(more, N, MPI_DOUBLE, before, 8, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(out, LARGE, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(out + 1, N, MPI_DOUBLE, next, 8, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitany(4, requests, &index, statuses);
	MPI_Waitall(4, requests, statuses);
	look(in, LARGE);
	look(more, N);
	MPI_Irecv(in, N, MPI_DOUBLE, before, 9, MPI_COMM_WORLD, &requests[0]);
	MPI_Send(out, N, MPI_DOUBLE, next, 9, MPI_COMM_WORLD);
	while (!flag)
		MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
	look(in, N);
}

/* Rank 0 takes what comes, in the order in which it comes. */
static void whoever(int round)
{
	MPI_Message message;
	MPI_Status status;

	if (rank) {
		MPI_Send(out, N, MPI_DOUBLE, 0, 20 + round, MPI_COMM_WORLD);
		return;
	}
	for (int i = 1; i < size; i++) {
		if (i % 2) {
			MPI_Recv(in, N, MPI_DOUBLE, MPI_ANY_SOURCE, 20 + round, MPI_COMM_WORLD, &status);
		} else {
			MPI_Mprobe(MPI_ANY_SOURCE, 20 + round, MPI_COMM_WORLD, &message, &status);
			MPI_Mrecv(in, N, MPI_DOUBLE, &message, &status);
		}
		printf("from %d\n", status.MPI_SOURCE);
		look(in, N);
	}
}

static void add(void *a, void *b, int *n, MPI_Datatype *type)
{
	for (int i = 0; i < *n; i++)
		((double *)b)[i] += ((double *)a)[i];
	(void)type;
}

static void collectives(MPI_Comm half)
{
	MPI_Request request;

	MPI_Allreduce(out, in, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	look(in, N);
	MPI_Allreduce(MPI_IN_PLACE, in, N, MPI_DOUBLE, MPI_MAX, half);
	look(in, N);
	MPI_Bcast(in, N, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
	MPI_Allgather(out, N, MPI_DOUBLE, more, N, MPI_DOUBLE, MPI_COMM_WORLD);
	look(more, N * size);
	MPI_Iallreduce(out, in, N, MPI_DOUBLE, MPI_SUM, half, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	look(in, N);
}

/* What the program's own functions are given is in the log. */
static void own_operation(void)
{
	MPI_Op own;

	MPI_Op_create(add, 1, &own);
	MPI_Allreduce(out, in, N, MPI_DOUBLE, own, MPI_COMM_WORLD);
	look(in, N);
	MPI_Op_free(&own);
}

/* Two messages, each of every other element, by persistent requests: what comes in one lies in the gaps of the other. */
static void persistent(void)
{
	MPI_Request requests[4];
	MPI_Datatype type;

	MPI_Type_vector(N / 2, 1, 2, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	for (int i = 0; i < 2; i++) {
		MPI_Recv_init(in + i, 1, type, (rank + size - 1) % size, 30 + i, MPI_COMM_WORLD, &requests[i]);
		MPI_Send_init(out + i, 1, type, (rank + 1) % size, 30 + i, MPI_COMM_WORLD, &requests[2 + i]);
	}
	MPI_Type_free(&type);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < N; k++)
			out[k] = rank + i * k;
		MPI_Startall(4, requests);
		MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
		look(in, N);
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&requests[i]);
}

int main(int argc, char **argv)
{
	MPI_Comm half;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	seed = argc > 1 ? atoi(argv[1]) : 0;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	for (int round = 0; round < ROUNDS; round++) {
		fill(round);
		exchanges(round);
		whoever(round);
		collectives(half);
	}
	own_operation();
	persistent();
	if (argc > 1 && !strcmp(argv[1], "die")) {
		if (rank == 1)
			raise(SIGKILL);
		MPI_Recv(in, N, MPI_DOUBLE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	printf("rank %d: %016lx\n", rank, sum);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}

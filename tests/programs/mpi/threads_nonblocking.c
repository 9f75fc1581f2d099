/* Nonblocking collectives of two threads at a time, with an operation of the program. */
#include <pthread.h>
#include "check.h"

#define ROUNDS 4
#define N 300

static void sum_up(void *in, void *inout, int *len, MPI_Datatype *type)
{
	for (int i = 0; i < *len; i++)
		((long *)inout)[i] += ((long *)in)[i];
}

/* Absolute addresses, while the other thread runs. */
static void far_apart(MPI_Comm comm, int round)
{
	int *on_heap = malloc(sizeof(int)), on_stack = rank ? -1 : round;
	MPI_Aint where[2];
	MPI_Datatype both;

	*on_heap = rank ? -1 : 100 + round;
	MPI_Get_address(on_heap, &where[0]);
	MPI_Get_address(&on_stack, &where[1]);
	MPI_Type_create_hindexed(2, (int[2]){1, 1}, where, MPI_INT, &both);
	MPI_Type_commit(&both);
	OK(MPI_Bcast(MPI_BOTTOM, 1, both, 0, comm));
	CHECK(*on_heap == 100 + round && on_stack == round);
	MPI_Type_free(&both);
	free(on_heap);
}

static void *rounds(void *argument)
{
	MPI_Comm comm = *(MPI_Comm *)argument;
	long in[N], out[N], token;
	int sum = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Request requests[2];
	MPI_Op op;

	OK(MPI_Op_create(sum_up, 1, &op));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++) {
			out[i] = round + rank * i;
			in[i] = -1;
		}
		OK(MPI_Iallreduce(out, in, N, MPI_LONG, op, comm, &requests[0]));
		OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]));
		/* a blocking call meanwhile */
		OK(MPI_Sendrecv(&out[1], 1, MPI_LONG, right, 2, &token, 1, MPI_LONG, left, 2, comm, MPI_STATUS_IGNORE));
		CHECK(token == round + left);
		OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
		far_apart(comm, round);
		CHECK(sum == size * (size - 1) / 2);
		for (int i = 0; i < N; i++)
			CHECK(in[i] == (long)size * round + (long)sum * i);
	}
	OK(MPI_Op_free(&op));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	MPI_Comm comms[2];
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	CHECK(provided == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	pthread_create(&thread, NULL, rounds, &comms[1]);
	rounds(&comms[0]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		MPI_Comm_free(&comms[i]);
	return end();
}

/* For restarts: communicators, datatypes, an operation and a topology of the program's own; requests that stay
 * pending for long; messages that are received long after they were sent.  Every rank prints a sum of all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12, AHEAD = 3, LENGTH = 40 };

static long sum;

static void add(const long *from, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + from[i];
}

static void mixed(void *in, void *inout, int *n, MPI_Datatype *type)
{
	long *a = in, *b = inout;
	(void)type;
	for (int i = 0; i < *n; i++)
		b[i] += a[i] + 1;
}

int main(int argc, char **argv)
{
	int rank, size, dims[1] = {0}, periods[1] = {1}, left, right, half_size;
	long out[AHEAD][LENGTH], in[AHEAD][2 * LENGTH], all, far[8], mine;
	MPI_Request receives[AHEAD], sends[AHEAD], late;
	MPI_Comm ring, half, copy;
	MPI_Datatype sparse;
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_split(copy, rank % 2, -rank, &half);
	MPI_Comm_size(half, &half_size);
	MPI_Dims_create(size, 1, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
	MPI_Cart_shift(ring, 0, 1, &left, &right);
	MPI_Type_vector(LENGTH, 1, 2, MPI_LONG, &sparse);
	MPI_Type_commit(&sparse);
	MPI_Op_create(mixed, 1, &op);
	MPI_Comm_free(&copy);
	memset(in, 0, sizeof(in));
	sum = rank;

	/* received at the very end; sent by rank 0 before everything else */
	MPI_Irecv(far, 8, MPI_LONG, 0, 99, MPI_COMM_WORLD, &late);
	for (int to = 0; rank == 0 && to < size; to++) {
		for (int i = 0; i < 8; i++)
			out[0][i] = to * 100 + i;
		MPI_Send(out[0], 8, MPI_LONG, to, 98, MPI_COMM_WORLD);
		MPI_Send(out[0], 8, MPI_LONG, to, 99, MPI_COMM_WORLD);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < AHEAD; k++) {
			MPI_Irecv(in[k], 1, sparse, left, k, ring, &receives[k]);
			for (int i = 0; i < LENGTH; i++)
				out[k][i] = sum + round * 7 + k * 3 + i;
		}
		for (int k = 0; k < AHEAD; k++)
			MPI_Isend(out[k], LENGTH, MPI_LONG, right, k, ring, &sends[k]);
		mine = sum % 1000;
		MPI_Allreduce(&mine, &all, 1, MPI_LONG, op, half);
		add(&all, 1);
		/* the last ones first */
		for (int k = AHEAD - 1; k > 0; k--) {
			MPI_Wait(&receives[k], MPI_STATUS_IGNORE);
			add(in[k], 2 * LENGTH);
		}
		MPI_Waitall(AHEAD, sends, MPI_STATUSES_IGNORE);
		MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
		add(in[0], 2 * LENGTH);
		if (round % 4 == 3) {
			MPI_Bcast(&all, 1, MPI_LONG, round % size, MPI_COMM_WORLD);
			add(&all, 1);
		}
		mine = all + rank;
		MPI_Sendrecv_replace(&mine, 1, MPI_LONG, right, 50, left, 50, ring, MPI_STATUS_IGNORE);
		add(&mine, 1);
	}
	MPI_Recv(far, 8, MPI_LONG, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	add(far, 8);
	MPI_Wait(&late, MPI_STATUS_IGNORE);
	add(far, 8);
	MPI_Type_free(&sparse);
	MPI_Op_free(&op);
	MPI_Comm_free(&half);
	MPI_Comm_free(&ring);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

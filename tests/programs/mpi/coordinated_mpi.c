/* Ranks that are in the middle of everything when rank 0 waits, computing, for a file that a test makes: persistent
 * and nonblocking operations, messages that nobody has asked for, a reduction of the program's own, derived datatypes,
 * communicators.  argv: steps, gate.  Each rank prints a sum that tells whether anything was lost or came twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIELD = 16, LARGE = 40000 };

static long large[LARGE];

static void combine(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *len; i++)
		((long *)inout)[i] = (long)((unsigned long)((long *)inout)[i] + 3ul * (unsigned long)((long *)in)[i]);
}

static void wait_for(const char *gate)
{
	printf("half\n");
	fflush(stdout);
	while (access(gate, F_OK))
		for (volatile int k = 0; k < 1000000; k++)
			;
}

/* All to rank 0, which takes them as they come. */
static unsigned long collect(int rank, int size, unsigned long sum)
{
	if (rank) {
		MPI_Send(&sum, 1, MPI_UNSIGNED_LONG, 0, 9, MPI_COMM_WORLD);
		return sum;
	}
	for (int i = 1; i < size; i++) {
		unsigned long one;
		MPI_Status status;

		MPI_Recv(&one, 1, MPI_UNSIGNED_LONG, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
		sum += one * (unsigned long)status.MPI_SOURCE;
	}
	return sum;
}

int main(int argc, char **argv)
{
	const int steps = atoi(argv[1]), round[1] = {1};
	int rank, size, left, right;
	MPI_Comm half, ring, other;
	MPI_Datatype even;
	MPI_Op op;
	MPI_Request kept, some[3];
	long field[FIELD], in[FIELD] = {0}, got = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, round, 0, &ring);
	MPI_Cart_shift(ring, 0, 1, &left, &right);
	MPI_Type_vector(FIELD / 2, 1, 2, MPI_LONG, &even);
	MPI_Type_commit(&even);
	MPI_Op_create(combine, 0, &op);
	MPI_Recv_init(&got, 1, MPI_LONG, left, 7, ring, &kept);
	for (int i = 0; i < FIELD; i++)
		field[i] = rank * 100 + i;
	for (int i = 0; i < LARGE; i++)
		large[i] = rank + i;
	unsigned long sum = (unsigned long)rank;
	for (int s = 0; s < steps; s++) {
		long token = (long)(sum % 1000), all = 0;

		MPI_Start(&kept);
		MPI_Irecv(in, 1, even, left, 3, ring, &some[0]);
		MPI_Isend(field, 1, even, right, 3, ring, &some[1]);
		MPI_Iallreduce(&token, &all, 1, MPI_LONG, MPI_SUM, half, &some[2]);
		if (rank == 0 && s == steps / 2)
			wait_for(argv[2]);
		MPI_Send(&token, 1, MPI_LONG, right, 7, ring);
		MPI_Waitall(3, some, MPI_STATUSES_IGNORE);
		MPI_Wait(&kept, MPI_STATUS_IGNORE);
		for (int i = 0; i < FIELD; i += 2)
			field[i] = (field[i] * 31 + in[i] + got) % 1000003;
		sum = collect(rank, size, sum * 17 + (unsigned long)(all + field[2]));
		MPI_Sendrecv_replace(large, LARGE, MPI_LONG, right, 4, left, 4, ring, MPI_STATUS_IGNORE);
		sum += (unsigned long)large[s % LARGE];
		token = (long)sum;
		MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_LONG, op, MPI_COMM_WORLD);
		MPI_Bcast(&token, 1, MPI_LONG, s % size, MPI_COMM_WORLD);
		sum ^= (unsigned long)token;
		if (s % 5 == 0) {
			MPI_Comm_dup(half, &other);
			MPI_Barrier(other);
			MPI_Comm_free(&other);
		}
	}
	printf("rank %d sum %lu\n", rank, sum);
	MPI_Finalize();
	return 0;
}

/* For restarts: exchanges in one request (MPI-4) that stay pending for long, of datatypes with and without gaps, with a
 * receive from anybody, and with the buffer that is sent; who is sent to may have its part long before or after.  The
 * last ones are completed after many other calls.  Every rank prints a sum of all. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 5, KINDS = 4, LENGTH = 30, LAST = 12 };

static long sum;

static void add(const long *from, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + from[i];
}

int main(int argc, char **argv)
{
	int rank, size, left, right, count;
	long out[KINDS][LENGTH], in[KINDS][2 * LENGTH], all, mine;
	MPI_Request exchanges[KINDS];
	MPI_Status statuses[KINDS];
	MPI_Datatype sparse;
	MPI_Comm ring;

	MPI_Init(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &ring);
	MPI_Comm_rank(ring, &rank);
	MPI_Comm_size(ring, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Type_vector(LENGTH, 1, 2, MPI_LONG, &sparse);
	MPI_Type_commit(&sparse);
	memset(in, 0, sizeof(in));
	sum = rank;
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < KINDS; k++)
			for (int i = 0; i < LENGTH; i++)
				out[k][i] = sum + round * 7 + k * 3 + i;
		for (int i = 0; i < LENGTH; i++)
			in[2][2 * i] = sum * 3 + i;
		MPI_Isendrecv(out[0], LENGTH, MPI_LONG, right, 1, in[0], 2 * LENGTH, MPI_LONG, left, 1,
			      ring, &exchanges[0]);
		MPI_Isendrecv(out[1], LENGTH, MPI_LONG, right, 2, in[1], 1, sparse, MPI_ANY_SOURCE, 2, ring,
			      &exchanges[1]);
		MPI_Isendrecv_replace(in[2], 1, sparse, left, 3, right, 3, ring, &exchanges[2]);
		MPI_Isendrecv(out[3], LENGTH, MPI_LONG, right, 4, NULL, 0, MPI_LONG, MPI_PROC_NULL, 4, ring,
			      &exchanges[3]);
		mine = sum % 1000;
		/* the last round's are pending while all these calls are made */
		for (int k = 0; k < (round == ROUNDS - 1 ? LAST : 1); k++) {
			MPI_Sendrecv_replace(&mine, 1, MPI_LONG, right, 50, left, 50, ring, MPI_STATUS_IGNORE);
			add(&mine, 1);
		}
		MPI_Wait(&exchanges[1], &statuses[1]);
		sum = sum * 31 + statuses[1].MPI_SOURCE + statuses[1].MPI_TAG;
		add(in[1], 2 * LENGTH);
		MPI_Recv(in[3], LENGTH, MPI_LONG, left, 4, ring, MPI_STATUS_IGNORE);
		add(in[3], LENGTH);
		MPI_Waitall(KINDS, exchanges, statuses);
		MPI_Get_count(&statuses[0], MPI_LONG, &count);
		sum = sum * 31 + count;
		add(in[0], LENGTH);
		add(in[2], 2 * LENGTH);
		all = sum % 1000;
		MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG, MPI_SUM, ring);
		add(&all, 1);
	}
	MPI_Type_free(&sparse);
	MPI_Comm_free(&ring);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

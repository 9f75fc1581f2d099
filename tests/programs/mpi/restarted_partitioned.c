/* For restarts: partitioned messages (MPI-4) whose parts become ready, and are looked for, one by one between messages and
 * collectives; what has come is changed before the rest has; requests last for two rounds.  Every rank prints a sum of
 * all. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 6, PARTS = 4, EACH = 20, LENGTH = PARTS * EACH };

static long sum;

static void add(const long *from, int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + from[i];
}

int main(int argc, char **argv)
{
	int rank, size, left, right;
	long out[2][LENGTH], in[2][LENGTH], mine;
	MPI_Request sending[2], receiving[2], both[4];
	MPI_Datatype pair;
	MPI_Comm ring;

	MPI_Init(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &ring);
	MPI_Comm_rank(ring, &rank);
	MPI_Comm_size(ring, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	sum = rank;
	for (int round = 0; round < ROUNDS; round++) {
		if (round % 2 == 0) {
			MPI_Type_contiguous(2, MPI_LONG, &pair);
			MPI_Type_commit(&pair);
			for (int k = 0; k < 2; k++) {
				MPI_Psend_init(out[k], PARTS, EACH / 2, pair, right, 1, ring, MPI_INFO_NULL,
					       &sending[k]);
				MPI_Precv_init(in[k], PARTS, EACH / 2, pair, left, 1, ring, MPI_INFO_NULL,
					       &receiving[k]);
			}
		}
		memset(in, 0xff, sizeof(in));
		for (int k = 0; k < 2; k++)
			for (int i = 0; i < LENGTH; i++)
				out[k][i] = sum + round * 7 + k * 3 + i;
		MPI_Startall(2, receiving);
		mine = sum % 1000;
		MPI_Sendrecv_replace(&mine, 1, MPI_LONG, right, 50, left, 50, ring, MPI_STATUS_IGNORE);
		add(&mine, 1);
		MPI_Start(&sending[1]);
		MPI_Start(&sending[0]);
		MPI_Pready(2, sending[0]);
		MPI_Pready_list(2, (int[]){3, 0}, sending[1]);
		MPI_Sendrecv_replace(&mine, 1, MPI_LONG, left, 50, right, 50, ring, MPI_STATUS_IGNORE);
		add(&mine, 1);
		MPI_Pready_range(0, 1, sending[0]);
		MPI_Pready_list(2, (int[]){1, 2}, sending[1]);
		MPI_Pready(3, sending[0]);
		MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_LONG, MPI_SUM, ring);
		add(&mine, 1);
		/* an MPI may send all parts at once */
		for (int arrived = 0; !arrived;)
			MPI_Parrived(receiving[0], 2, &arrived);
		add(in[0] + 2 * EACH, EACH);
		in[0][2 * EACH] = -round;
		MPI_Sendrecv_replace(&mine, 1, MPI_LONG, right, 51, left, 51, ring, MPI_STATUS_IGNORE);
		add(&mine, 1);
		for (int arrived = 0; !arrived;)
			MPI_Parrived(receiving[1], 1, &arrived);
		add(in[1] + EACH, EACH);
		in[1][EACH] = -round - 1;
		memcpy(both, sending, sizeof(sending));
		memcpy(both + 2, receiving, sizeof(receiving));
		MPI_Wait(&both[2], MPI_STATUS_IGNORE);
		add(in[0], LENGTH);
		MPI_Waitall(4, both, MPI_STATUSES_IGNORE);
		add(in[1], LENGTH);
		if (round % 2) {
			for (int k = 0; k < 2; k++) {
				MPI_Request_free(&receiving[k]);
				MPI_Request_free(&sending[k]);
			}
			MPI_Type_free(&pair);
		}
	}
	MPI_Comm_free(&ring);
	printf("%d: %lx\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

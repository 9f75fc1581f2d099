/* Partitioned communication, and both halves of an exchange in one request. */
#include "check.h"

enum { PARTS = 4, EACH = 30, MANY = 30000 };

static void partitions(void)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size, flag, seen;
	int out[PARTS * EACH], in[PARTS * EACH];
	MPI_Request sending, receiving;
	MPI_Status status, both[2];

	OK(MPI_Psend_init(out, PARTS, EACH, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sending));
	OK(MPI_Precv_init(in, PARTS, EACH, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving));
	for (int round = 0; round < 2; round++) {
		memset(in, 0xff, sizeof(in));
		OK(MPI_Start(&receiving));
		OK(MPI_Start(&sending));
		for (int i = 0; i < PARTS * EACH; i++)
			out[i] = 1000 * rank + 100 * round + i;
		OK(MPI_Pready(2, sending));
		OK(MPI_Pready_range(0, 1, sending));
		OK(MPI_Pready_list(1, (int[]){3}, sending));
		for (seen = 0; seen < PARTS;) {
			OK(MPI_Parrived(receiving, seen, &flag));
			if (!flag)
				continue;
			for (int i = seen * EACH; i < (seen + 1) * EACH; i++)
				CHECK(in[i] == 1000 * left + 100 * round + i);
			seen++;
		}
		in[0] = -5; /* it is the program's by now */
		if (round) {
			OK(MPI_Waitall(2, (MPI_Request[]){sending, receiving}, both));
			status = both[1];
		} else {
			OK(MPI_Wait(&receiving, &status));
			OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
		}
		CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 1);
		CHECK(in[0] == -5 && in[PARTS * EACH - 1] == 1000 * left + 100 * round + PARTS * EACH - 1);
	}
	OK(MPI_Request_free(&sending));
	OK(MPI_Request_free(&receiving));
}

static void exchanges(void)
{
	static int sent[MANY], came[MANY];
	int left = (rank + size - 1) % size, right = (rank + 1) % size, in = -1, both = rank;
	MPI_Request requests[2];
	MPI_Status statuses[2];

	OK(MPI_Isendrecv(&rank, 1, MPI_INT, right, 2, &in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Isendrecv_replace(&both, 1, MPI_INT, left, 3, right, 3, MPI_COMM_WORLD, &requests[1]));
	OK(MPI_Waitall(2, requests, statuses));
	CHECK(in == left && both == right);
	for (int i = 0; i < MANY; i++)
		sent[i] = rank * MANY + i;
	OK(MPI_Isendrecv(sent, MANY, MPI_INT, right, 2, came, MANY, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	OK(MPI_Isendrecv_replace(sent, MANY, MPI_INT, left, 3, right, 3, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	for (int i = 0; i < MANY; i++)
		CHECK(came[i] == left * MANY + i && sent[i] == right * MANY + i);
	/* from anybody, and less than there is room for */
	OK(MPI_Isendrecv(sent, MANY - 1, MPI_INT, right, 4, came, MANY, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
			 MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Wait(&requests[0], &statuses[0]));
	OK(MPI_Get_count(&statuses[0], MPI_INT, &in));
	CHECK(statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 4 && in == MANY - 1);
	CHECK(came[0] == rank * MANY && came[MANY - 1] == left * MANY + MANY - 1);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	partitions();
	exchanges();
	return end();
}

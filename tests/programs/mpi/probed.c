/* Rank 1 finds messages of rank 0 by each kind of probe while receives are pending that take earlier messages.  The
 * n-th message has n bytes; all have one tag. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 6, TAG = 3 };

static char buf[MESSAGES + 1][MESSAGES];

static void found(const MPI_Status *status, int expected)
{
	int count;

	MPI_Get_count(status, MPI_BYTE, &count);
	if (count != expected) {
		fprintf(stderr, "message %d was found, not %d\n", count, expected);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void receive(void)
{
	MPI_Request request[3];
	MPI_Message second, fourth;
	MPI_Status status;
	int flag;

	MPI_Probe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status);
	MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &second, &status);
	MPI_Irecv(buf[1], MESSAGES, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request[0]);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	found(&status, 2);
	MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &second, &status);
	found(&status, 2);
	do
		MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
	while (!flag);
	found(&status, 3);
	MPI_Irecv(buf[3], MESSAGES, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request[1]);
	do
		MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &fourth, &status);
	while (!flag);
	found(&status, 4);
	MPI_Mrecv(buf[4], MESSAGES, MPI_BYTE, &fourth, &status);
	MPI_Probe(0, TAG, MPI_COMM_WORLD, &status);
	found(&status, 5);
	MPI_Imrecv(buf[2], MESSAGES, MPI_BYTE, &second, &request[2]);
	MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
	for (int n = 5; n <= MESSAGES; n++)
		MPI_Recv(buf[n], MESSAGES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int n = 1; rank == 0 && n <= MESSAGES; n++)
		MPI_Send(buf[0], n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
	if (rank == 1)
		receive();
	MPI_Finalize();
	return 0;
}

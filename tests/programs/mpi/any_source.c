/* Messages that wait at rank 0 when it begins to receive from anyone.  Usage: any_source HOW; prints the order. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 1 };

static int next(const char *how)
{
	int from = -1, flag = 0;
	MPI_Status status;
	MPI_Message message;
	MPI_Request request;

	if (!strcmp(how, "recv"))
		MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	else if (!strcmp(how, "irecv")) {
		MPI_Irecv(&from, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, &status);
	} else if (!strcmp(how, "sendrecv")) {
		MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, TAG, &from, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
			     &status);
	} else if (!strcmp(how, "sendrecv_replace")) {
		MPI_Sendrecv_replace(&from, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
	} else if (!strcmp(how, "mprobe")) {
		MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(&from, 1, MPI_INT, &message, &status);
	} else if (!strcmp(how, "improbe")) {
		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &message, &status);
		MPI_Mrecv(&from, 1, MPI_INT, &message, &status);
	} else {
		if (!strcmp(how, "probe"))
			MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
		while (strcmp(how, "probe") && !flag)
			MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &status);
		MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, &status);
	}
	return from == status.MPI_SOURCE ? from : -1;
}

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int round = 0; round < 10; round++) {
		if (rank)
			MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 1; !rank && i < size; i++)
			printf("%d%c", next(argv[1]), i + 1 < size ? ' ' : '\n');
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return argc != 2;
}

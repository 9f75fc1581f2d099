/* polls TURNS: rank 0 asks in vain, TURNS times in each way, before the other rank may send. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { GO = 1, DATA = 2, NEVER = 3 };

int main(int argc, char **argv)
{
	int rank, turns, flag, done, index, indices[2], value = 0, go = 1;
	MPI_Request requests[2];
	MPI_Message message;
	MPI_Status statuses[2];

	MPI_Init(&argc, &argv);
	turns = argc > 1 ? atoi(argv[1]) : 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1) {
		MPI_Recv(&go, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		value = 42;
		MPI_Send(&value, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
		MPI_Send(&value, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
	} else if (rank == 0) {
		int got[2];

		for (int i = 0; i < 2; i++)
			MPI_Irecv(&got[i], 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, &requests[i]);
		for (int i = 0; i < turns; i++)
			MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
		for (int i = 0; i < turns; i++)
			MPI_Testall(2, requests, &flag, statuses);
		for (int i = 0; i < turns; i++)
			MPI_Testany(2, requests, &index, &flag, statuses);
		for (int i = 0; i < turns; i++)
			MPI_Testsome(2, requests, &done, indices, statuses);
		for (int i = 0; i < turns; i++)
			MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
		for (int i = 0; i < turns; i++)
			MPI_Iprobe(1, NEVER, MPI_COMM_WORLD, &flag, statuses);
		for (int i = 0; i < turns; i++)
			MPI_Improbe(1, NEVER, MPI_COMM_WORLD, &flag, &message, statuses);
		MPI_Send(&go, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		printf("got %d %d\n", got[0], got[1]);
	}
	MPI_Finalize();
	return 0;
}

/* loops TURNS: rank 0 asks in vain in three ways, one after the other, before the other rank may send; then the
 * ranks exchange numbers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { GO = 1, DATA = 2, NEVER = 3 };

int main(int argc, char **argv)
{
	int rank, turns, flag, got[2] = {0, 0}, go = 1, value, sum = 0;
	MPI_Request requests[2];

	MPI_Init(&argc, &argv);
	turns = argc > 1 ? atoi(argv[1]) : 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1) {
		MPI_Recv(&go, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&rank, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
		MPI_Send(&rank, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
	} else {
		for (int i = 0; i < 2; i++)
			MPI_Irecv(&got[i], 1, MPI_INT, 1, DATA, MPI_COMM_WORLD, &requests[i]);
		for (int i = 0; i < turns; i++) {
			MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
			MPI_Iprobe(1, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
			MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
		}
		MPI_Send(&go, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < turns; i++) {
		value = 1000 * rank + i;
		if (rank == 0)
			MPI_Send(&value, 1, MPI_INT, 1, DATA, MPI_COMM_WORLD);
		MPI_Recv(&value, 1, MPI_INT, 1 - rank, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += value;
		value = 1000 * rank + i;
		if (rank == 1)
			MPI_Send(&value, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
	}
	printf("%d: got %d %d, sum %d\n", rank, got[0], got[1], sum);
	MPI_Finalize();
	return 0;
}

/* A receive that is on its way while checkpoints are taken; tests name places by the comments with @. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int buffer[64];
int small = -1;
int finished;

int main(int argc, char **argv)
{
	MPI_Request requests[2];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	memset(buffer, 0xff, sizeof(buffer));
	if (rank == 0) {
		MPI_Irecv(buffer, 64, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]); /* @posted */
		MPI_Irecv(&small, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[1]);
		MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
		for (int i = 0; i < 60; i++)
			getppid(); /* @flying */
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* @wait */
		finished = 1; /* @filled */
		for (int i = 0; i < 60; i++)
			getppid();
	} else {
		MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < 64; i++)
			buffer[i] = 100 + i;
		MPI_Send(buffer, 64, MPI_INT, 0, 3, MPI_COMM_WORLD);
		MPI_Send(&buffer[7], 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}

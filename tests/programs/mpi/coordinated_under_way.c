/* A message that leaves when its receiver is held already: rank 1 has left a broadcast, so rank 0 goes on to it, by way of a
 * send.  argv: the file for which rank 0 waits before that. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, word = 0, more = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1) {
		more = 30;
		MPI_Bcast(&more, 1, MPI_INT, 1, MPI_COMM_WORLD);
	}
	printf("half\n");
	fflush(stdout);
	if (rank == 0) {
		while (access(argv[1], F_OK))
			usleep(1000);
		word = 7;
		MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
		MPI_Bcast(&more, 1, MPI_INT, 1, MPI_COMM_WORLD);
		MPI_Recv(&word, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
	}
	printf("rank %d sum %d\n", rank, word + more);
	MPI_Finalize();
	return 0;
}

/* A message that leaves when its receiver is held already: rank 1 has begun a collective, so rank 0 goes on to it, by way of a
 * send.  argv: the file for which rank 0 waits before that. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, word = 0;
	MPI_Request begun;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1)
		MPI_Ibarrier(MPI_COMM_WORLD, &begun);
	printf("half\n");
	fflush(stdout);
	if (rank == 0) {
		while (access(argv[1], F_OK))
			usleep(1000);
		word = 7;
		MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
		MPI_Ibarrier(MPI_COMM_WORLD, &begun);
	} else if (rank == 1) {
		MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Wait(&begun, MPI_STATUS_IGNORE);
	printf("rank %d sum %d\n", rank, word);
	MPI_Finalize();
	return 0;
}

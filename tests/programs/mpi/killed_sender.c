/* killed_sender FILE: rank 1 kills rank 0 in the call by which that has sent it a message; not if there is FILE. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, mine[2], theirs[2] = {0, 0};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	mine[0] = (int)getpid();
	mine[1] = 10 + rank;
	if (rank == 0) {
		MPI_Sendrecv(mine, 2, MPI_INT, 1, 5, theirs, 2, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(theirs, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (argc > 1 && access(argv[1], F_OK)) {
			kill(theirs[0], SIGTERM);
			MPI_Recv(theirs, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		MPI_Send(mine, 2, MPI_INT, 0, 6, MPI_COMM_WORLD);
	}
	printf("%d: %d\n", rank, theirs[1]);
	MPI_Finalize();
	return 0;
}

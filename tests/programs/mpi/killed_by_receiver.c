/* Rank 1 kills rank 0 as soon as it has a message from it.  The other ranks keep the processors busy: rank 0 hears of
 * both when it runs again. */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, pid = (int)getpid();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (volatile int busy = rank > 1; busy;)
		;
	if (rank == 0) {
		MPI_Ssend(&pid, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&pid, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		kill(pid, SIGTERM);
	}
	MPI_Recv(&pid, 1, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}

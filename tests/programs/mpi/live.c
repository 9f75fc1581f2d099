// Computes and prints until a file is there: a job to attach to while it runs.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int turn, rank;
double sum;

__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 100000; i++)
		sum += i * 1e-9;
	printf("rank %d turn %d\n", rank, turn);
	fflush(stdout);
	usleep(20000);
}

int main(int argc, char **argv)
{
	int stop = 0, size, theirs;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (!stop) {
		work();
		turn++;
		MPI_Sendrecv(&turn, 1, MPI_INT, (rank + 1) % size, 5, &theirs, 1, MPI_INT,
			     (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		stop = access(argv[1], F_OK) == 0;
		MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}

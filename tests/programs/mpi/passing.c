/* Rank 0 makes a value; each rank hands on what it got, unchanged, as the third member of an array. */
#include <mpi.h>

static double value[5];

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0)
		for (int i = 0; i < 5; i++)
			value[i] = 1.5 * i;
	else
		MPI_Recv(value, 5, MPI_DOUBLE, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank + 1 < size)
		MPI_Send(value, 5, MPI_DOUBLE, rank + 1, 3, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

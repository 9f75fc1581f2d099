/* The ranks of a host have a communicator of their own; with an argument, a datatype that MPICH has not. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Comm host, odd;
	MPI_Datatype two;
	int rank, size, sum = 0;

	(void)argv;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (double begin = MPI_Wtime(); MPI_Wtime() == begin;)
		; /* calls with another result than MPI_SUCCESS */
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &host);
	MPI_Comm_split_type(MPI_COMM_WORLD, rank % 2 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &odd);
	if (argc > 1)
		MPI_Type_contiguous(2, MPI_LOGICAL2, &two);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Comm_size(host, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, host);
	if (odd != MPI_COMM_NULL)
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, odd);
	printf("rank %d: %d on its host, sum %d\n", rank, size, sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

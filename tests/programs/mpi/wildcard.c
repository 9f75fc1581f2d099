/* The order in which any-source messages come differs from run to run; rank 0 prints it. */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 30

int main(int argc, char **argv)
{
	int rank, size, value;
	unsigned order = 0;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank) {
		for (int i = 0; i < ROUNDS; i++) {
			volatile double spin = 0;

			for (int k = 0; k < (int)(MPI_Wtime() * 1e6) % 2000; k++)
				spin += k;
			value = rank * 1000 + i;
			MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
		}
	} else {
		for (int i = 0; i < ROUNDS * (size - 1); i++) {
			MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
				 &status);
			order = order * 31 + status.MPI_SOURCE;
		}
		printf("order %08x\n", order);
	}
	MPI_Finalize();
	return 0;
}

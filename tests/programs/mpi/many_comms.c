/* Communicators that come and go, as those of a library that opens one file after the other. */
#include <mpi.h>

enum { FILES = 60 };

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank, token = 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < FILES; i++) {
		MPI_Comm file;
		MPI_Comm_dup(MPI_COMM_WORLD, &file);
		MPI_Barrier(file);
		MPI_Bcast(&token, 1, MPI_INT, i % 2, file);
		MPI_Scan(&rank, &token, 1, MPI_INT, MPI_SUM, file);
		MPI_Barrier(file);
		MPI_Comm_free(&file);
	}
	MPI_Finalize();
	return 0;
}

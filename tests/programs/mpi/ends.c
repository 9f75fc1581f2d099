/* Ways to end: `ends WHAT`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function of the standard that the library of Open MPI 4.1 does not have. */
extern int MPI_Comm_flush_buffer(MPI_Comm comm) __attribute__((weak));

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank, value = 1;

	if (!strcmp(what, "early"))
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(what, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (!strcmp(what, "fatal"))
		MPI_Send(&value, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
	if (!strcmp(what, "unsupported"))
		MPI_Comm_flush_buffer(MPI_COMM_WORLD);
	if (!strcmp(what, "late")) {
		MPI_Finalize();
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	}
	printf("%d: still here\n", rank);
	MPI_Finalize();
	return 3;
}

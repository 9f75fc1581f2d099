/* MPI_Allreduce three times, by the binding that is chosen. */
#include <mpi.h>

int main(int argc, char **argv)
{
	int mine = 1, sum = 0;

	MPI_Init(&argc, &argv);
	for (int turn = 0; turn < 3; turn++) {
		ALLREDUCE(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		mine += sum;
	}
	MPI_Finalize();
	return mine != 8;
}

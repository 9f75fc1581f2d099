// Ranks that pass a number round, and have a struct to look at.
#include <mpi.h>

struct cell {
	int id;
	double heat;
	double flow[3];
};

struct cell cell;
static int rank, size;

__attribute__((noinline)) void exchange(int round)
{
	double in = 0, out = cell.heat + round;
	MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, round, &in, 1, MPI_DOUBLE, (rank + size - 1) % size, round,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	cell.heat = (cell.heat + in) / 2;
	cell.flow[round % 3] = in - out;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	cell.id = rank;
	cell.heat = rank * 10;
	for (int round = 0; round < 20; round++)
		exchange(round);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

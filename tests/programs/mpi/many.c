// Ranks that have a number, a struct and a place of their own; the even ones call deeper.
#include <mpi.h>
#include <stdio.h>

struct cell {
	int id;
	double heat;
	double flow[3];
};

struct cell cell;
double residual;
int rank, size;

__attribute__((noinline)) void deeper(int round)
{
	cell.flow[round % 3] += 1;
	MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) void exchange(int round)
{
	double in = 0, out = cell.heat;
	MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, round, &in, 1, MPI_DOUBLE, (rank + size - 1) % size, round,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	cell.heat = in;
	if (rank % 2 == 0)
		deeper(round);
	else
		MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	cell.id = rank;
	cell.heat = 10 * rank;
	for (int round = 0; round < 2; round++)
		exchange(round);
	residual = rank == 3 ? 0.5 : rank;
	MPI_Finalize();
	return rank == 4 ? 7 : 0;
}

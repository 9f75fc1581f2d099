/* Rank 0 hands a number to rank 1, that to rank 2, eight times.  From round 5 on rank 1 spoils it;
 * rank 2 keeps count and ends with exit code 3. */
#include <mpi.h>

#define ROUNDS 8

static int rank, got, number, spoiled;

static int relay(int value, int turn)
{
	int passed = value;
	if (turn >= 5)
		passed = -value; /* the bug */
	return passed;
}

static void turn(int round)
{
	if (rank == 0)
		got = round + 1;
	else
		MPI_Recv(&got, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	number = rank == 1 ? relay(got, round) : got;
	if (rank < 2)
		MPI_Send(&number, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
	else if (number < 0)
		spoiled++;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < ROUNDS; round++)
		turn(round);
	MPI_Finalize();
	return spoiled ? 3 : 0;
}

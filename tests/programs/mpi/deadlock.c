/* Jobs that end in a deadlock, of a kind each: who has said "waits" says nothing any more. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks, value;

static void waits(void)
{
	printf("%d waits\n", rank);
	fflush(stdout);
}

/* All receive from their neighbour before they send to the other one. */
static void cycle(void)
{
	waits();
	MPI_Recv(&value, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* cycle */
	MPI_Send(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD);
}

/* All send to their neighbour before they receive from the other one. */
static void sends(void)
{
	waits();
	MPI_Ssend(&value, 1, MPI_INT, (rank + 1) % ranks, 7, MPI_COMM_WORLD);
	MPI_Recv(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 sends with another tag than rank 1 waits for; rank 2 waits for both. */
static void tag(void)
{
	MPI_Request request;

	if (rank == 0)
		MPI_Send(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD); /* sent */
	waits();
	if (rank == 1) {
		MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE); /* received */
	}
	MPI_Barrier(MPI_COMM_WORLD); /* barrier */
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	value = rank;
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (argc > 1 && !strcmp(argv[1], "cycle"))
		cycle();
	else if (argc > 1 && !strcmp(argv[1], "sends"))
		sends();
	else
		tag();
	MPI_Finalize();
	return 0;
}

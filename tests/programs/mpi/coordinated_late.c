/* Rank 1 is within MPI_Sendrecv: what it sends to rank 2 waits for that, and what it receives from rank 0 is there.  The
 * others compute until a test makes a file.  argv: gate. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { LARGE = 400000 };

static long large[LARGE];

static void wait_for(const char *gate)
{
	printf("half\n");
	fflush(stdout);
	while (access(gate, F_OK))
		for (volatile int k = 0; k < 1000000; k++)
			;
}

int main(int argc, char **argv)
{
	int rank, more = 0;
	long sum = 0, token;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < LARGE; i++)
		large[i] = rank + i;
	/* all are connected, and know how to bring each other large messages */
	MPI_Sendrecv_replace(large, LARGE, MPI_LONG, (rank + 1) % 3, 0, (rank + 2) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(large, LARGE, MPI_LONG, (rank + 2) % 3, 0, (rank + 1) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		token = 7;
		MPI_Send(&token, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
		wait_for(argv[1]);
	} else if (rank == 1) {
		MPI_Sendrecv(large, LARGE, MPI_LONG, 2, 1, &sum, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		wait_for(argv[1]);
		MPI_Recv(large, LARGE, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < LARGE; i++)
			sum += large[i];
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &more, MPI_STATUS_IGNORE);
	printf("rank %d sum %ld more %d\n", rank, sum, more);
	MPI_Finalize();
	return 0;
}

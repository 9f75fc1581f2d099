/* For restarts: what ranks do after MPI_Finalize, and objects that they never freed. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, in[4], out[4], over = 0;
	long sum;
	MPI_Request request;
	MPI_Comm half;
	MPI_Datatype pair;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	sum = rank + 1;
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < 4; i++)
			out[i] = (int)(sum % 1000) + i;
		MPI_Isend(out, 2, pair, (rank + 1) % size, round, MPI_COMM_WORLD, &request);
		MPI_Recv(in, 2, pair, (rank + size - 1) % size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, half);
		for (int i = 0; i < 4; i++)
			sum = sum * 7 % 100003 + in[i];
	}
	printf("%d: %ld\n", rank, sum);
	fflush(stdout);
	MPI_Finalize();
	for (int turn = 0; turn < 3; turn++) {
		sum = sum * 31 % 100003;
		printf("%d: turn %d, %ld\n", rank, turn, sum);
		fflush(stdout);
	}
	MPI_Finalized(&over);
	return !over || getppid() < 1;
}

/* Messages from anybody, in the order in which they come; tests name places by the comments
 * with @. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PER_RANK = 12, TAG = 5 };

int order[256];
int received;
int sent;
unsigned long digest = 5381;
int buffer[4] = { -1, -1, -1, -1 };

static void take(MPI_Status *status)
{
	MPI_Recv(buffer, 4, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status); /* @receive */
	order[received++] = buffer[0] * 100 + buffer[1]; /* @received */
	digest = digest * 33 + order[received - 1];
}

static void give(int rank)
{
	for (int i = 0; i < PER_RANK; i++) {
		int out[4] = { rank, i, rank * i, 7 };

		usleep(rand() % 2000);
		MPI_Send(out, 4, MPI_INT, 0, TAG, MPI_COMM_WORLD); /* @send */
		sent++; /* @sent */
	}
}

int main(int argc, char **argv)
{
	MPI_Status status;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	srand(getpid());
	MPI_Barrier(MPI_COMM_WORLD); /* nobody is late */
	if (rank == 0) {
		while (received < PER_RANK * (size - 1))
			take(&status);
		for (int i = 0; i < received; i++)
			printf("%d%c", order[i], i + 1 < received ? ' ' : '\n');
		fflush(stdout);
	} else {
		give(rank);
	}
	MPI_Bcast(&digest, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD); /* @bcast */
	MPI_Finalize(); /* @finalize */
	return 0;
}

/* What a whole-job replay may wait for in vain.  ROUNDS: rank 1 sends so many messages, and all meet so many times.
 * `summed`, `copied`: one barrier and another collective.  `pending`: receives of anything that take messages which nobody asks for again. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 17, SMALL = 100 };

static int rank, size;
static double data[LARGE], pending[4][LARGE];

static void fill(double value, int n)
{
	for (int i = 0; i < n; i++)
		data[i] = value + i;
}

static void send(double value, int n, int tag)
{
	fill(value, n);
	MPI_Send(data, n, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
}

static void got(const char *what)
{
	printf("%s %.0f\n", what, data[0]);
}

static void receiver(void)
{
	MPI_Request request;

	/* the first takes 1 MiB, whose sender waits for that; the second a message before others like it */
	MPI_Irecv(pending[0], LARGE, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
	MPI_Irecv(pending[1], SMALL, MPI_DOUBLE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
	MPI_Irecv(pending[2], SMALL, MPI_DOUBLE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request); /* nothing */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Recv(data, SMALL, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	got("by a call that blocks");
	MPI_Irecv(data, SMALL, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	got("by a request");
	MPI_Irecv(pending[3], LARGE, MPI_DOUBLE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void sender(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	send(1000, LARGE, 5);
	send(2000, SMALL, 6);
	send(3000, SMALL, 6);
	send(4000, SMALL, 6);
	MPI_Barrier(MPI_COMM_WORLD);
	send(5000, LARGE, 8);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(argv[1], "pending")) {
		rank ? sender() : receiver();
	} else if (!strcmp(argv[1], "summed") || !strcmp(argv[1], "copied")) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (argv[1][0] == 's')
			MPI_Allreduce(data, pending[0], LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		else
			MPI_Bcast(data, LARGE, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	} else {
		for (int i = 0; i < atoi(argv[1]); i++) {
			if (rank)
				send(i, SMALL, i);
			else
				MPI_Recv(data, SMALL, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

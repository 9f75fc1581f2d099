/* Rank 1 sends messages that are longer than rank 0's receives of them, and a test makes a file after a checkpoint:
 * one has a receive before, the others are asked for in three ways afterwards.  argv: gate. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { LONG = 100, SHORT = 10, WAYS = 4 };

static int in[WAYS][LONG];

static int truncated(MPI_Request *request)
{
	int class = 0;

	MPI_Error_class(MPI_Wait(request, MPI_STATUS_IGNORE), &class);
	return class == MPI_ERR_TRUNCATE;
}

int main(int argc, char **argv)
{
	int out[LONG], rank, cut[WAYS], whole = 0;
	MPI_Request one[WAYS];
	MPI_Message message;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < LONG; i++)
		out[i] = i + 1;
	if (rank == 0)
		MPI_Irecv(in[0], SHORT, MPI_INT, 1, 0, MPI_COMM_WORLD, &one[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int tag = 0; rank == 1 && tag < WAYS; tag++)
		MPI_Send(out, LONG, MPI_INT, 0, tag, MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Mprobe(1, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		puts("there");
		fflush(stdout);
	}
	while (access(argv[1], F_OK))
		usleep(1000);
	if (rank == 0) {
		cut[0] = truncated(&one[0]);
		MPI_Imrecv(in[1], SHORT, MPI_INT, &message, &one[1]);
		cut[1] = truncated(&one[1]);
		MPI_Irecv(in[2], SHORT, MPI_INT, 1, 2, MPI_COMM_WORLD, &one[2]);
		cut[2] = truncated(&one[2]);
		MPI_Recv_init(in[3], SHORT, MPI_INT, 1, 3, MPI_COMM_WORLD, &one[3]);
		MPI_Start(&one[3]);
		cut[3] = truncated(&one[3]);
		for (int i = 0; i < WAYS; i++)
			whole += in[i][SHORT]; /* behind the buffer */
		printf("rank 0 sum %d %d %d %d, %d\n", cut[0], cut[1], cut[2], cut[3], whole);
	}
	MPI_Finalize();
	return 0;
}

/* Rank 0 sends two messages of one tag for each way to receive; rank 1 has too little room for the first.  With "small" none is
 * larger than what is sent at once: of others Open MPI 4.1 writes more than there is room for. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 100, MORE = 3, LARGE = 50000, WAYS = 9 };

static int out[LARGE], in[LARGE], back[ROOM];

static void message(int length, int tag)
{
	MPI_Send(out, length, MPI_INT, 1, tag, MPI_COMM_WORLD);
}

static int receive(int way, int tag)
{
	int flag = 0, code = MPI_SUCCESS;
	MPI_Message found;
	MPI_Request request;
	MPI_Status status;

	switch (way) {
	case 0: return MPI_Recv(in, ROOM, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	case 1:
		MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		return MPI_Mrecv(in, ROOM, MPI_INT, &found, &status);
	case 2: return MPI_Sendrecv(back, ROOM, MPI_INT, 0, tag, in, ROOM, MPI_INT, 0, tag, MPI_COMM_WORLD, &status);
	case 3: return MPI_Sendrecv_replace(in, ROOM, MPI_INT, 0, tag, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
	case 4: MPI_Irecv(in, ROOM, MPI_INT, 0, tag, MPI_COMM_WORLD, &request); return MPI_Wait(&request, &status);
	case 5:
		MPI_Irecv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
		code = MPI_Waitall(1, &request, &status);
		return code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : code;
	case 6:
		MPI_Irecv(in, ROOM, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
		while (!flag && code == MPI_SUCCESS)
			code = MPI_Test(&request, &flag, &status);
		return code;
	case 7:
		MPI_Recv_init(in, ROOM, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
		MPI_Start(&request);
		code = MPI_Wait(&request, &status);
		MPI_Request_free(&request);
		return code;
	default:
		MPI_Mprobe(0, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		MPI_Imrecv(in, ROOM, MPI_INT, &found, &request);
		return MPI_Wait(&request, &status);
	}
}

int main(int argc, char **argv)
{
	int rank, class, step = argc > 1 && !strcmp(argv[1], "small") ? 2 : 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 2 * WAYS; i += step) {
		int way = i / 2, length = i % 2 ? LARGE : ROOM + MORE;

		if (rank == 0) {
			for (int k = 0; k < LARGE; k++)
				out[k] = i + k;
			message(length, i);
			out[0] = -i;
			message(ROOM, i);
			for (int k = 0; k < 2 && (way == 2 || way == 3); k++)
				MPI_Recv(back, ROOM, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == 1) {
			MPI_Error_class(receive(way, i), &class);
			printf("%d %d %d ", i, class == MPI_ERR_TRUNCATE, in[0]);
			MPI_Error_class(receive(way, i), &class);
			printf("%d %d\n", class == MPI_SUCCESS, in[0]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}

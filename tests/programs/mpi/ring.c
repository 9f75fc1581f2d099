/* Blocking point-to-point: a ring, an any-source gather, exchanges, a probe of unknown length. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, size, token = 0, count;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int round = 0; round < 20; round++) {
		if (rank == 0) {
			token += round;
			MPI_Send(&token, 1, MPI_INT, 1 % size, 7, MPI_COMM_WORLD);
			MPI_Recv(&token, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, &status);
		} else {
			MPI_Recv(&token, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, &status);
			token += rank;
			MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
		}
	}
	MPI_Get_count(&status, MPI_INT, &count);
	printf("%d: token %d from %d tag %d count %d\n", rank, token, status.MPI_SOURCE,
	       status.MPI_TAG, count);

	double edge[2] = { rank + 0.5, rank + 0.25 }, other[2] = { -1, -1 };
	int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(edge, 2, MPI_DOUBLE, right, 1, other, 2, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
		     &status);
	MPI_Sendrecv_replace(edge, 1, MPI_DOUBLE, left, 2, right, 2, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	printf("%d: %g %g %g %g\n", rank, edge[0], edge[1], other[0], other[1]);

	/* Larger than any eager limit, and of a length that the receiver has to ask for. */
	if (rank == 0) {
		for (int i = 1; i < size; i++) {
			MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_LONG, &count);
			long *data = malloc(sizeof(long) * count), sum = 0;

			MPI_Recv(data, count, MPI_LONG, status.MPI_SOURCE, 9, MPI_COMM_WORLD,
				 &status);
			for (int k = 0; k < count; k++)
				sum += data[k];
			if (sum != (long)count * (status.MPI_SOURCE + 1))
				MPI_Abort(MPI_COMM_WORLD, 3);
			free(data);
		}
	} else {
		count = 40000 * rank;
		long *data = malloc(sizeof(long) * count);

		for (int k = 0; k < count; k++)
			data[k] = rank + 1;
		MPI_Ssend(data, count, MPI_LONG, 0, 9, MPI_COMM_WORLD);
		free(data);
	}
	/* Buffered: the buffer is the program's, its contents are not. */
	if (size > 1) {
		int room = 4096 + MPI_BSEND_OVERHEAD;
		void *buffer = malloc(room), *back;
		char text[32] = "";

		MPI_Buffer_attach(buffer, room);
		snprintf(text, sizeof(text), "from %d", rank);
		MPI_Bsend(text, sizeof(text), MPI_CHAR, (rank + 1) % size, 4, MPI_COMM_WORLD);
		memset(text, 0, sizeof(text));
		MPI_Recv(text, sizeof(text), MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			 &status);
		MPI_Buffer_detach(&back, &room);
		printf("%d: %s, buffer %s %d\n", rank, text, back == buffer ? "same" : "other", room);
		free(buffer);
	}
	MPI_Finalize();
	return 0;
}

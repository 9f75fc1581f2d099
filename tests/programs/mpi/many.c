/* Many requests completed by one call, and handles made and freed many times. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define N 3000

int main(int argc, char **argv)
{
	int rank, size, *in = malloc(N * sizeof(int)), *out = malloc(N * sizeof(int));
	MPI_Request *requests = malloc(2 * N * sizeof(*requests));
	MPI_Status *statuses = malloc(2 * N * sizeof(*statuses));
	long sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < N; i++) {
		out[i] = rank * N + i;
		MPI_Irecv(&in[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[i]);
	}
	for (int i = 0; i < N; i++)
		MPI_Isend(&out[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD,
			  &requests[N + i]);
	MPI_Waitall(2 * N, requests, statuses);
	for (int i = 0; i < N; i++)
		sum += in[i] == ((rank + 1) % size) * N + i && statuses[i].MPI_TAG == i;
	printf("%d: right %ld\n", rank, sum);
	for (int i = 0; i < 50; i++) {
		MPI_Datatype type;
		MPI_Comm copy;

		MPI_Type_vector(3, 1, 2, MPI_INT, &type);
		MPI_Type_commit(&type);
		MPI_Comm_dup(MPI_COMM_WORLD, &copy);
		MPI_Sendrecv(out, 1, type, rank, i, in, 1, type, rank, i, copy, MPI_STATUS_IGNORE);
		MPI_Comm_free(&copy);
		MPI_Type_free(&type);
	}
	printf("%d: %d %d\n", rank, in[0], in[4]);
	MPI_Finalize();
	free(in);
	free(out);
	free(requests);
	free(statuses);
	return 0;
}

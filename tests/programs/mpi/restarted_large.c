/* For restarts: calls with more elements than an int can count, which have no bytes here; under way, pending, persistent. */
#include <mpi.h>
#include <stdio.h>

static const MPI_Count MANY = 3000000000;

int main(int argc, char **argv)
{
	int rank, size, in, out = 0, got;
	long sum;
	MPI_Datatype empty, early;
	MPI_Request asked, late, lasting[2];
	MPI_Status status;
	MPI_Count count;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int left = (rank + size - 1) % size, right = (rank + 1) % size;

	sum = rank + 1;
	MPI_Type_contiguous(0, MPI_INT, &empty);
	MPI_Type_commit(&empty);
	/* under way, and pending, until the end */
	MPI_Irecv_c(&out, MANY, empty, left, 90, MPI_COMM_WORLD, &late);
	MPI_Send_c(&out, MANY, empty, right, 91, MPI_COMM_WORLD);
	MPI_Send_init_c(&out, MANY, empty, right, 92, MPI_COMM_WORLD, &lasting[0]);
	MPI_Recv_init_c(&out, MANY + 1, empty, left, 92, MPI_COMM_WORLD, &lasting[1]);
	for (int round = 0; round < 5; round++) {
		MPI_Type_contiguous(2, MPI_INT, &early);
		MPI_Type_commit(&early);
		MPI_Startall(2, lasting);
		MPI_Ibcast_c(&out, MANY, empty, round % size, MPI_COMM_WORLD, &asked);
		int pair[2] = {(int)(sum % 1000), round}, back[2];
		MPI_Sendrecv(pair, 1, early, right, 1, back, 1, early, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum = (sum * 31 + back[0] + back[1]) % 1000003;
		MPI_Wait(&asked, MPI_STATUS_IGNORE);
		MPI_Waitall(2, lasting, MPI_STATUSES_IGNORE);
		MPI_Type_free(&early);
	}
	MPI_Recv_c(&in, MANY, empty, left, 91, MPI_COMM_WORLD, &status);
	MPI_Get_count_c(&status, MPI_INT, &count);
	MPI_Send_c(&out, MANY, empty, right, 90, MPI_COMM_WORLD);
	MPI_Wait(&late, &status);
	MPI_Get_count(&status, MPI_INT, &got);
	MPI_Request_free(&lasting[0]);
	MPI_Request_free(&lasting[1]);
	MPI_Type_free(&empty);
	printf("%d: %ld, %d and %d\n", rank, sum, (int)count, got);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}

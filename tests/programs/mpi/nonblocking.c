/* Nonblocking and persistent point-to-point, with every way to complete it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 8
#define BIG 50000
static int rank, size;

static unsigned long sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	unsigned long h = 5381;

	while (len--)
		h = h * 33 + *p++;
	return h;
}

static void wait_family(void)
{
	int out[N], in[N], done[N], n, index, flag, right = (rank + 1) % size;
	int left = (rank + size - 1) % size;
	MPI_Request requests[2 * N];
	MPI_Status statuses[2 * N], status;

	for (int way = 0; way < 6; way++) {
		for (int i = 0; i < N; i++) {
			out[i] = 1000 * way + 10 * rank + i;
			in[i] = -1;
			MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
		}
		for (int i = 0; i < N; i++)
			MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[N + i]);
		switch (way) {
		case 0:
			MPI_Waitall(2 * N, requests, statuses);
			for (int i = 0; i < N; i++)
				if (statuses[i].MPI_TAG != i || statuses[i].MPI_SOURCE != left)
					MPI_Abort(MPI_COMM_WORLD, 2);
			break;
		case 1:
			for (int i = 0; i < 2 * N; i++)
				MPI_Waitany(2 * N, requests, &index, &status);
			break;
		case 2:
			for (int left_over = 2 * N; left_over; left_over -= n)
				MPI_Waitsome(2 * N, requests, &n, (int[2 * N]){ 0 }, statuses);
			break;
		case 3:
			for (int i = 0; i < 2 * N; i++)
				for (flag = 0; !flag;)
					MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
			break;
		case 4:
			for (flag = 0; !flag;)
				MPI_Testall(2 * N, requests, &flag, MPI_STATUSES_IGNORE);
			break;
		case 5:
			for (int left_over = N; left_over;) {
				MPI_Testsome(N, requests, &n, done, MPI_STATUSES_IGNORE);
				if (n != MPI_UNDEFINED)
					left_over -= n;
			}
			for (int left_over = N; left_over;) {
				MPI_Testany(N, requests + N, &index, &flag, &status);
				if (flag && index != MPI_UNDEFINED)
					left_over--;
			}
			break;
		}
		for (int i = 0; i < 2 * N; i++)
			if (requests[i] != MPI_REQUEST_NULL)
				MPI_Abort(MPI_COMM_WORLD, 4);
		printf("%d: way %d %d..%d\n", rank, way, in[0], in[N - 1]);
	}
}

static void persistent(void)
{
	static double out[BIG], in[BIG];
	MPI_Request requests[2];

	MPI_Recv_init(in, BIG, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
	MPI_Send_init(out, BIG, MPI_DOUBLE, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < BIG; i++)
			out[i] = rank + round * 0.5 + i;
		if (round == 1) {
			MPI_Start(&requests[0]);
			MPI_Start(&requests[1]);
		} else {
			MPI_Startall(2, requests);
		}
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		printf("%d: round %d %lx\n", rank, round, sum(in, sizeof(in)));
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	printf("%d: freed %d\n", rank, requests[0] == MPI_REQUEST_NULL);
}

/* A column of a matrix arrives while the program writes to the others. */
static void gaps(void)
{
	double matrix[16][16], column[16];
	MPI_Datatype type, pair;
	MPI_Request request;
	MPI_Status status;
	int elements, count;
	struct { char c; double d; } records[4];

	MPI_Type_vector(16, 1, 16, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	memset(matrix, 0, sizeof(matrix));
	MPI_Irecv(&matrix[0][3], 1, type, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &request);
	MPI_Type_free(&type);
	for (int i = 0; i < 16; i++) {
		column[i] = rank * 100 + i;
		matrix[i][2] = matrix[i][4] = i;
	}
	MPI_Send(column, 16, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	printf("%d: matrix %lx %g %g\n", rank, sum(matrix, sizeof(matrix)), matrix[15][3],
	       matrix[15][4]);

	/* Two and a half elements: the rest of the third stays as it is. */
	MPI_Type_create_struct(2, (int[]){ 1, 1 }, (MPI_Aint[]){ 0, 8 },
			       (MPI_Datatype[]){ MPI_CHAR, MPI_DOUBLE }, &pair);
	MPI_Type_commit(&pair);
	memset(records, 0x55, sizeof(records));
	MPI_Irecv(records, 4, pair, (rank + size - 1) % size, 6, MPI_COMM_WORLD, &request);
	char packed[32] = "";
	int position = 0;

	for (int i = 0; i < 3; i++) {
		char c = (char)('a' + rank + i);
		double d = rank + i;

		MPI_Pack(&c, 1, MPI_CHAR, packed, sizeof(packed), &position, MPI_COMM_WORLD);
		if (i < 2)
			MPI_Pack(&d, 1, MPI_DOUBLE, packed, sizeof(packed), &position, MPI_COMM_WORLD);
	}
	MPI_Send(packed, position, MPI_PACKED, (rank + 1) % size, 6, MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, pair, &count);
	MPI_Get_elements(&status, pair, &elements);
	printf("%d: records %lx count %s elements %d\n", rank, sum(records, sizeof(records)),
	       count == MPI_UNDEFINED ? "undefined" : "?", elements);
	MPI_Type_free(&pair);
}

static void others(void)
{
	int value = -1, flag, size_of = 0, mine = rank * 7;
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request request, other;
	MPI_Message message;
	MPI_Status status;

	/* cancelled: nothing arrives */
	MPI_Irecv(&value, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	printf("%d: cancelled %d value %d\n", rank, flag, value);

	/* looked at before it is waited for: delivered once */
	MPI_Irecv(&value, 1, MPI_INT, left, 11, MPI_COMM_WORLD, &request);
	MPI_Isend(&mine, 1, MPI_INT, right, 11, MPI_COMM_WORLD, &other);
	for (flag = 0; !flag;)
		MPI_Request_get_status(request, &flag, &status);
	printf("%d: seen %d\n", rank, value);
	value = 12345;
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	printf("%d: kept %d\n", rank, value);

	/* matched probes */
	MPI_Isend(&mine, 1, MPI_INT, right, 12, MPI_COMM_WORLD, &other);
	MPI_Mprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &message, &status);
	MPI_Get_count(&status, MPI_INT, &size_of);
	MPI_Mrecv(&value, size_of, MPI_INT, &message, &status);
	printf("%d: mrecv %d null %d\n", rank, value, message == MPI_MESSAGE_NULL);
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	MPI_Isend(&mine, 1, MPI_INT, right, 13, MPI_COMM_WORLD, &other);
	for (flag = 0; !flag;)
		MPI_Improbe(left, 13, MPI_COMM_WORLD, &flag, &message, &status);
	MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
	MPI_Wait(&request, &status);
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	printf("%d: imrecv %d from %d\n", rank, value, status.MPI_SOURCE);

	/* freed while pending, and a probe that says no for a while */
	MPI_Irecv(&value, 1, MPI_INT, left, 14, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	MPI_Isend(&mine, 1, MPI_INT, right, 14, MPI_COMM_WORLD, &other);
	MPI_Request_free(&other);
	MPI_Issend(&mine, 1, MPI_INT, right, 15, MPI_COMM_WORLD, &other);
	for (flag = 0; !flag;)
		MPI_Iprobe(left, 15, MPI_COMM_WORLD, &flag, &status);
	MPI_Recv(&mine, 1, MPI_INT, left, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("%d: freed %d %d\n", rank, value, mine);

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Wait(&request, &status);        /* null: an empty status */
	printf("%d: empty %d %d\n", rank, status.MPI_SOURCE == MPI_ANY_SOURCE,
	       status.MPI_TAG == MPI_ANY_TAG);
	MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, &status);
	printf("%d: proc null %d %d\n", rank, status.MPI_SOURCE == MPI_PROC_NULL, value);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	wait_family();
	persistent();
	gaps();
	others();
	MPI_Finalize();
	return 0;
}

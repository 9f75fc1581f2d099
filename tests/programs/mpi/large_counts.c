/* MPI-4's functions with large counts: those of each family once, and counts that no int holds.
 * "none": what an MPI without them has to refuse. */
#include "check.h"
#include <stdint.h>

static const MPI_Count MANY = 3000000000; /* of elements without bytes */

static void messages(void)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size, in = -1, out = 10 + rank;
	int block[100] = {0}; /* more than a recording of the order has in its log */
	MPI_Datatype empty;
	MPI_Request requests[2];
	MPI_Message message;
	MPI_Count count = 0;
	MPI_Status status;

	OK(MPI_Isend_c(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Recv_c(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status));
	OK(MPI_Get_count_c(&status, MPI_INT, &count));
	CHECK(in == 10 + left && count == 1);
	OK(MPI_Get_elements_c(&status, MPI_INT, &count));
	CHECK(count == 1);
	OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	OK(MPI_Sendrecv_c(&out, 1, MPI_INT, left, 2, &in, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &status));
	CHECK(in == 10 + right);
	OK(MPI_Irecv_c(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Ssend_init_c(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]));
	OK(MPI_Start(&requests[1]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	OK(MPI_Request_free(&requests[1]));
	CHECK(in == 10 + left);

	for (int i = 0; i < 4; i++) /* to and from nobody */
		OK(MPI_Sendrecv_c(&out, MANY + i % 2, MPI_INT, MPI_PROC_NULL, 4, &in, MANY, MPI_BYTE, MPI_PROC_NULL, 4,
				  MPI_COMM_WORLD, &status));
	OK(MPI_Type_contiguous(0, MPI_INT, &empty));
	OK(MPI_Type_commit(&empty));
	OK(MPI_Isend_c(&out, MANY, empty, right, 4, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Mprobe(left, 4, MPI_COMM_WORLD, &message, &status));
	OK(MPI_Mrecv_c(&in, MANY, empty, &message, &status));
	OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	OK(MPI_Get_count_c(&status, MPI_INT, &count));
	CHECK(count == 0 && in == 10 + left);
	OK(MPI_Bcast_c(&out, MANY, empty, 0, MPI_COMM_WORLD));
	block[99] = rank ? 0 : 7;
	OK(MPI_Bcast_c(block, 100, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(block[99] == 7);
	OK(MPI_Send_init_c(&out, MANY, empty, right, 5, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Start(&requests[0]));
	OK(MPI_Recv_c(&in, MANY + 1, empty, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
	OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	OK(MPI_Request_free(&requests[0]));
	OK(MPI_Type_free(&empty));
}

static void add(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
	CHECK(*type == MPI_INT);
	for (MPI_Count i = 0; i < *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void collectives(void)
{
	int *all = malloc(size * sizeof(*all)), mine[2] = {rank, rank}, sum = 0;
	MPI_Count *counts = malloc(size * sizeof(*counts));
	MPI_Aint *displs = malloc(size * sizeof(*displs));
	MPI_Request request;
	MPI_Op op;

	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = size - 1 - i;
	}
	OK(MPI_Allgather_c(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
	CHECK(all[size - 1] == size - 1);
	OK(MPI_Allgatherv_c(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD));
	CHECK(all[0] == size - 1 && all[size - 1] == 0);
	memset(all, 0xff, size * sizeof(*all));
	OK(MPI_Iallgatherv_c(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	CHECK(all[0] == size - 1 && all[size - 1] == 0);
	memset(all, 0xff, size * sizeof(*all));
	OK(MPI_Gatherv_c(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(all[0] == (rank ? -1 : size - 1));
	OK(MPI_Scatterv_c(all, counts, displs, MPI_INT, mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(mine[0] == rank);
	OK(MPI_Op_create_c(add, 1, &op));
	OK(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
	CHECK(sum == size * (size - 1) / 2);
	OK(MPI_Op_free(&op));
	for (int i = 0; i < size; i++)
		all[i] = i + rank;
	OK(MPI_Reduce_scatter_c(all, &sum, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(sum == rank * size + size * (size - 1) / 2);
	OK(MPI_Reduce_scatter_block_c(all, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
	CHECK(sum == rank + size - 1);
	OK(MPI_Ireduce_scatter_c(all, &sum, counts, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	CHECK(sum == rank);
	free(all);
	free(counts);
	free(displs);
}

static void datatypes(void)
{
	MPI_Count lengths[2] = {1, 2}, places[2] = {0, 8}, lb, extent, bytes, at = 0, n[4];
	int values[4] = {1, 2, 3, 4}, back[4] = {0}, combiner;
	MPI_Datatype type;
	char packed[64];

	OK(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Type_size_c(type, &bytes));
	OK(MPI_Type_get_extent_c(type, &lb, &extent));
	CHECK(bytes == 12 && lb == 0 && extent == 16);
	OK(MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner));
	CHECK(combiner == MPI_COMBINER_HINDEXED && n[0] + n[1] + n[2] == 5 && n[3] == 1);
	OK(MPI_Pack_size_c(1, type, MPI_COMM_WORLD, &bytes));
	CHECK(bytes >= 12 && bytes <= (MPI_Count)sizeof(packed));
	OK(MPI_Pack_c(values, 1, type, packed, sizeof(packed), &at, MPI_COMM_WORLD));
	CHECK(at == 12);
	at = 0;
	OK(MPI_Unpack_c(packed, 12, &at, back, 1, type, MPI_COMM_WORLD));
	CHECK(at == 12 && back[0] == 1 && back[1] == 0 && back[2] == 3 && back[3] == 4);
	OK(MPI_Type_free(&type));
}

/* Sends one element of the type to ourselves as ints; the first of them and their number. */
static void sends(MPI_Datatype type, const int *from, int first, int n)
{
	int back[64] = {0};
	MPI_Status status;
	MPI_Count count;

	OK(MPI_Type_commit(&type));
	OK(MPI_Sendrecv_c(from, 1, type, rank, 6, back, 64, MPI_INT, rank, 6, MPI_COMM_WORLD, &status));
	OK(MPI_Get_count_c(&status, MPI_INT, &count));
	CHECK(count == n && back[0] == first);
	OK(MPI_Type_free(&type));
}

/* Their constructors have integers besides large counts, or none that counts blocks. */
static void arrays(void)
{
	const MPI_Count sizes[] = {5, 6}, parts[] = {2, 3}, starts[] = {1, 2};
	const int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE}, grid[] = {2, 1};
	const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
	MPI_Datatype type;
	int field[30];

	for (int i = 0; i < 30; i++)
		field[i] = i;
	OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
	sends(type, field, 8, 6);
	OK(MPI_Type_create_darray_c(2, 1, 2, sizes, kinds, dargs, grid, MPI_ORDER_FORTRAN, MPI_INT, &type));
	sends(type, field, 1, 12);
	OK(MPI_Type_create_resized_c(MPI_INT, -8, 24, &type));
	sends(type, field, 0, 1);
}

static void many_elements(void)
{
	int values[2] = {7, 8}, back[2] = {0};
	MPI_Count bytes, lb, extent, far[2] = {0, 1}, one[2] = {1, 1}, n[4], large[8];
	MPI_Datatype type, from[1];
	MPI_Aint addresses[8];
	int combiner, integers[8];

	OK(MPI_Type_contiguous_c(MANY, MPI_INT, &type));
	OK(MPI_Type_size_c(type, &bytes));
	OK(MPI_Type_get_extent_c(type, &lb, &extent));
	CHECK(bytes == 4 * MANY && lb == 0 && extent == 4 * MANY);
	OK(MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner));
	CHECK(combiner == MPI_COMBINER_CONTIGUOUS && n[0] == 0 && n[2] == 1 && n[3] == 1);
	OK(MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], integers, addresses, large, from));
	CHECK(large[0] == MANY && from[0] == MPI_INT);
	OK(MPI_Type_free(&type));

	/* a few bytes, far apart: only these are looked at */
	far[1] = (char *)&values[1] - (char *)&values[0] + MANY * 4;
	char *base = (char *)&values[0], *low = base - MANY * 4;
	far[0] = MANY * 4;
	OK(MPI_Type_create_hindexed_c(2, one, far, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Sendrecv_c(low, 1, type, rank, 5, back, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(back[0] == 7 && back[1] == 8);
	OK(MPI_Type_free(&type));
}

static void windows(void)
{
	int *memory, value = 100 + rank, unit_right = (rank + 1) % size;
	MPI_Aint bytes, unit;
	MPI_Win win;

	OK(MPI_Win_allocate_c(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put_c(&value, 1, MPI_INT, unit_right, 0, 1, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(*memory == 100 + (rank + size - 1) % size);
	OK(MPI_Accumulate_c(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	CHECK(*memory == value + 100 + (rank + size - 1) % size);
	OK(MPI_Win_free(&win));
	OK(MPI_Win_allocate_shared_c(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
	OK(MPI_Win_shared_query_c(win, 0, &bytes, &unit, &memory));
	CHECK(bytes == 8 && unit == 4);
	OK(MPI_Win_free(&win));
}

static void files(const char *name)
{
	int value = rank, back = -1;
	MPI_Status status;
	MPI_Count count;
	MPI_File file;

	OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
	OK(MPI_File_write_at_all_c(file, 4 * rank, &value, 1, MPI_INT, &status));
	OK(MPI_File_sync(file));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_File_sync(file));
	OK(MPI_File_read_at_c(file, 4 * ((rank + 1) % size), &back, 1, MPI_INT, &status));
	OK(MPI_Get_count_c(&status, MPI_INT, &count));
	CHECK(count == 1 && back == (rank + 1) % size);
	OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	messages();
	collectives();
	datatypes();
	arrays();
	windows();
	if (argc > 1)
		files(argv[1]);
	if (argc > 2)
		many_elements();
	return end();
}

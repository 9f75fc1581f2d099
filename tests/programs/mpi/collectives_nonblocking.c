/* Nonblocking collectives: results appear when the request is complete, never before. */
#include "check.h"

#define MOST 8
static int calls;

static void wait_in_some_way(MPI_Request *request)
{
	static int way;
	int flag = 0, index;

	switch (way++ % 4) {
	case 0: OK(MPI_Wait(request, MPI_STATUS_IGNORE)); break;
	case 1:
		while (!flag)
			OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
		break;
	case 2: OK(MPI_Waitall(1, request, MPI_STATUSES_IGNORE)); break;
	case 3: OK(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE)); break;
	}
	CHECK(*request == MPI_REQUEST_NULL);
}

static void data_moves(void)
{
	int out[MOST * 3], in[MOST * 3], counts[MOST], places[MOST], total = 0;
	MPI_Request request;

	for (int i = 0; i < size; i++) {
		counts[i] = i + 1;
		places[i] = total + i; /* a gap of i in all */
		total += counts[i];
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);

	in[0] = rank == 1 ? 77 : -1;
	MPI_Ibcast(in, 1, MPI_INT, 1, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == 77);

	memset(in, -1, sizeof(in));
	MPI_Igather(&rank, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == (rank ? -1 : i));

	for (int i = 0; i < MOST * 3; i++)
		out[i] = 100 * rank + i;
	memset(in, -1, sizeof(in));
	MPI_Igatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, size - 1, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	if (rank == size - 1) {
		for (int i = 0; i < size; i++)
			for (int k = 0; k < counts[i]; k++)
				CHECK(in[places[i] + k] == 100 * i + k);
		CHECK(in[places[1] - 0 - 1] == (places[1] > 1 ? -1 : in[0]));
	}

	MPI_Iscatter(out, 2, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == 2 * rank && in[1] == 2 * rank + 1);
	MPI_Iscatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, 1, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[counts[rank] - 1] == 100 + places[rank] + rank);

	memset(in, -1, sizeof(in));
	in[rank] = rank * rank;
	MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == i * i);
	memset(in, -1, sizeof(in));
	MPI_Iallgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[places[size - 1]] == 100 * (size - 1));

	MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == 100 * i + rank);
	for (int i = 0; i < size; i++)
		in[i] = 10 * rank + i;
	MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == 10 * i + rank);
}

static void all_to_all(void)
{
	int out[MOST], in[2 * MOST], ones[MOST], places[MOST], bytes[MOST], in_bytes[MOST];
	MPI_Datatype types[MOST], every_second, in_types[MOST];
	MPI_Request requests[2];

	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
	MPI_Type_commit(&every_second);
	for (int i = 0; i < size; i++) {
		out[i] = 100 * rank + i;
		ones[i] = 1;
		places[i] = i;
		bytes[i] = i * (int)sizeof(int);
		in_bytes[i] = 2 * bytes[i];
		types[i] = MPI_INT;
		in_types[i] = every_second;
	}
	memset(in, -1, sizeof(in));
	MPI_Ialltoallv(out, ones, places, MPI_INT, in, ones, places, every_second, MPI_COMM_WORLD, &requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	for (int i = 0; i < size; i++)
		CHECK(in[2 * i] == 100 * i + rank && in[2 * i + 1] == -1);

	/* the gaps are the program's own meanwhile; so is the datatype */
	memset(in, -1, sizeof(in));
	MPI_Ialltoallw(out, ones, bytes, types, in, ones, in_bytes, in_types, MPI_COMM_WORLD, &requests[0]);
	for (int i = 0; i < size; i++) {
		in[2 * i + 1] = i;
		types[i] = in_types[i] = MPI_DATATYPE_NULL;
	}
	MPI_Type_free(&every_second);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < size; i++)
		CHECK(in[2 * i] == 100 * i + rank && in[2 * i + 1] == i);
}

static void add_pairs(void *in, void *inout, int *len, MPI_Datatype *type)
{
	int bytes;

	MPI_Type_size(*type, &bytes);
	CHECK(bytes == 2 * (int)sizeof(int));
	for (int i = 0; i < 2 * *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
	calls++;
}

static void reductions(void)
{
	int in[2 * MOST], out[2 * MOST], counts[MOST], sum = size * (size - 1) / 2, all;
	MPI_Datatype pair;
	MPI_Request request;
	MPI_Op op;

	MPI_Ireduce(&rank, in, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(rank != size - 1 || in[0] == sum);
	in[0] = rank;
	MPI_Iallreduce(MPI_IN_PLACE, in, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == size - 1);
	MPI_Iscan(&rank, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == rank * (rank + 1) / 2);
	in[0] = -5;
	MPI_Iexscan(&rank, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == (rank ? rank * (rank - 1) / 2 : -5));

	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		out[i] = in[i] = rank + i;
	}
	MPI_Ireduce_scatter_block(out, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(all == sum + size * rank);
	MPI_Ireduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	wait_in_some_way(&request);
	CHECK(in[0] == sum + size * rank);

	/* an operation and a datatype that the program frees before the end */
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Op_create(add_pairs, 1, &op);
	for (int i = 0; i < 2 * MOST; i++)
		out[i] = rank + i;
	memset(in, -1, sizeof(in));
	MPI_Iallreduce(out, in, MOST, pair, op, MPI_COMM_WORLD, &request);
	MPI_Type_free(&pair);
	MPI_Op_free(&op);
	CHECK(in[3] == -1);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &all, 1, MPI_INT, (rank + size - 1) % size, 3,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	wait_in_some_way(&request);
	for (int i = 0; i < 2 * MOST; i++)
		CHECK(in[i] == sum + size * i);
	MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(all > 0);
}

/* Several at a time, with a big one and one of absolute addresses. */
static void together(void)
{
	enum { BIG = 40000 };
	int *big = malloc(BIG * sizeof(int)), near = -1, flag = 0, len[2] = {1, 1}, on_stack = -1;
	int *on_heap = malloc(sizeof(int));
	MPI_Aint where[2];
	MPI_Datatype far;
	MPI_Request requests[3];

	for (int i = 0; i < BIG; i++)
		big[i] = rank ? -1 : 3 * i;
	*on_heap = rank ? -1 : 21;
	if (!rank)
		on_stack = 22;
	MPI_Get_address(on_heap, &where[0]);
	MPI_Get_address(&on_stack, &where[1]);
	MPI_Type_create_hindexed(2, len, where, MPI_INT, &far);
	MPI_Type_commit(&far);
	MPI_Ibcast(big, BIG, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Ibcast(MPI_BOTTOM, 1, far, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Iallreduce(&rank, &near, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
	while (!flag)
		MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
	CHECK(big[BIG - 1] == 3 * (BIG - 1) && big[1] == 3);
	CHECK(*on_heap == 21 && on_stack == 22);
	CHECK(near == size * (size - 1) / 2);
	MPI_Type_free(&far);
	free(big);
	free(on_heap);
}

static int copied(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static void duplicates(void)
{
	MPI_Comm comm, copy;
	MPI_Request request;
	int keyval, flag, sum, same;
	void *value;

	MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_attr(comm, keyval, (void *)41);
	MPI_Comm_idup(comm, &copy, &request);
	wait_in_some_way(&request);
	MPI_Comm_compare(comm, copy, &same);
	CHECK(same == MPI_CONGRUENT);
	MPI_Comm_get_attr(copy, keyval, &value, &flag);
	CHECK(flag && value == (void *)42);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
	CHECK(sum == size * (size - 1) / 2);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&comm);
	MPI_Comm_free_keyval(&keyval);
}

/* Request_get_status says complete: the results are there, and the request stays. */
static void looked_at(void)
{
	int sum = -1, flag = 0;
	MPI_Request request;

	MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	while (!flag)
		MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
	CHECK(sum == size * (size - 1) / 2);
	sum = 1234;
	CHECK(request != MPI_REQUEST_NULL);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(sum == 1234);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	data_moves();
	all_to_all();
	reductions();
	together();
	duplicates();
	looked_at();
	return end();
}

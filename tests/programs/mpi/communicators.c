/* Groups, communicators of all kinds, intercommunicators and collectives on them. */
#include "check.h"

static int sum_of(MPI_Comm comm)
{
	int sum, one = 1;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	return sum;
}

static void groups(void)
{
	MPI_Group world, odd, even, both, none, some;
	int ranges[1][3] = {{0, size - 1, 2}}, result, n, from[8], to[8];
	MPI_Comm comm;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, ranges, &even);
	MPI_Group_range_excl(world, 1, ranges, &odd);
	MPI_Group_union(even, odd, &both);
	MPI_Group_compare(world, both, &result);
	CHECK(result == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
	MPI_Group_intersection(even, odd, &none);
	CHECK(none == MPI_GROUP_EMPTY);
	MPI_Group_difference(world, odd, &some);
	MPI_Group_compare(some, even, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_size(even, &n);
	CHECK(n == (size + 1) / 2);
	for (int i = 0; i < n; i++)
		from[i] = i;
	MPI_Group_translate_ranks(even, n, from, world, to);
	CHECK(to[n - 1] == 2 * (n - 1));
	MPI_Group_rank(odd, &n);
	CHECK(n == (rank % 2 ? rank / 2 : MPI_UNDEFINED));
	MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
	CHECK((comm == MPI_COMM_NULL) == (rank % 2));
	if (comm != MPI_COMM_NULL) {
		CHECK(sum_of(comm) == (size + 1) / 2);
		MPI_Comm_free(&comm);
	}
	if (rank % 2) { /* of these alone */
		MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &comm);
		CHECK(sum_of(comm) == size / 2);
		MPI_Comm_free(&comm);
	}
	MPI_Group_incl(world, 1, &rank, &none);
	MPI_Group_excl(world, 1, &rank, &some);
	MPI_Group_size(some, &n);
	CHECK(n == size - 1);
	MPI_Group_free(&some);
	MPI_Group_free(&none);
	MPI_Group_free(&odd);
	MPI_Group_free(&even);
	MPI_Group_free(&both);
	MPI_Group_free(&world);
}

static void communicators(void)
{
	MPI_Comm comm, dup;
	MPI_Info info, back;
	char name[MPI_MAX_OBJECT_NAME];
	int n, result;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
	CHECK(sum_of(comm) == (size + 1 - rank % 2) / 2);
	MPI_Comm_set_name(comm, "half");
	MPI_Comm_get_name(comm, name, &n);
	CHECK(!strcmp(name, "half") && n == 4);
	MPI_Info_create(&info);
	MPI_Info_set(info, "key", "value");
	MPI_Comm_dup_with_info(comm, info, &dup);
	MPI_Comm_compare(comm, dup, &result);
	CHECK(result == MPI_CONGRUENT);
	MPI_Comm_set_info(dup, info);
	MPI_Comm_get_info(dup, &back);
	MPI_Info_free(&back);
	MPI_Info_free(&info);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&comm);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
	CHECK(sum_of(comm) == size);
	MPI_Comm_free(&comm);
	MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, 0, &comm);
	CHECK((comm == MPI_COMM_NULL) == !rank);
	if (rank)
		MPI_Comm_free(&comm);
}

/* Even and odd ranks: collectives go to the other side. */
static void between(void)
{
	int side = rank % 2, mine, n, others, in[16], out[16], counts[16], places[16], root, flag;
	MPI_Comm half, inter, merged, dup;
	MPI_Group far;
	MPI_Request request;

	MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
	MPI_Comm_rank(half, &mine);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !side, 12, &inter);
	MPI_Comm_test_inter(inter, &flag);
	CHECK(flag);
	MPI_Comm_remote_size(inter, &others);
	MPI_Comm_remote_group(inter, &far);
	MPI_Group_size(far, &n);
	CHECK(n == others);
	MPI_Group_free(&far);
	MPI_Comm_size(inter, &n);
	for (int i = 0; i < 16; i++)
		out[i] = 100 * rank + i;
	for (int i = 0; i < others; i++) {
		counts[i] = 1;
		places[i] = 2 * i;
	}

	MPI_Barrier(inter);
	root = side ? 0 : mine ? MPI_PROC_NULL : MPI_ROOT; /* the first even rank */
	in[0] = rank ? -1 : 55;
	MPI_Bcast(in, 1, MPI_INT, root, inter);
	CHECK(in[0] == (rank == 0 || side ? 55 : -1));
	memset(in, -1, sizeof(in));
	MPI_Gather(&rank, 1, MPI_INT, in, 1, MPI_INT, root, inter);
	for (int i = 0; i < others; i++)
		CHECK(in[i] == (rank ? -1 : 2 * i + 1));
	memset(in, -1, sizeof(in));
	MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, root, inter);
	CHECK(in[0] == (side ? 2 * mine : -1));
	MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, inter);
	for (int i = 0; i < others; i++)
		CHECK(in[i] == 2 * i + !side);
	memset(in, -1, sizeof(in));
	MPI_Allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, inter);
	for (int i = 0; i < others; i++)
		CHECK(in[2 * i] == 2 * i + !side && in[2 * i + 1] == -1);
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
	for (int i = 0; i < others; i++)
		CHECK(in[i] == 100 * (2 * i + !side) + mine);
	MPI_Allreduce(&rank, in, 1, MPI_INT, MPI_MAX, inter);
	CHECK(in[0] % 2 == !side && in[0] >= size - 2);
	in[0] = -3;
	MPI_Reduce(&rank, in, 1, MPI_INT, MPI_MIN, root, inter);
	CHECK(in[0] == (rank ? -3 : 1));
	memset(in, -1, sizeof(in));
	MPI_Iallgather(&rank, 1, MPI_INT, in, 1, MPI_INT, inter, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < others; i++)
		CHECK(in[i] == 2 * i + !side);
	in[0] = rank ? -1 : 66;
	MPI_Ibcast(in, 1, MPI_INT, root, inter, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in[0] == (rank == 0 || side ? 66 : -1));
	if (mine < others) {
		MPI_Sendrecv(&rank, 1, MPI_INT, mine, 1, in, 1, MPI_INT, mine, 1, inter, MPI_STATUS_IGNORE);
		CHECK(in[0] == (side ? rank - 1 : rank + 1));
	}
	MPI_Comm_dup(inter, &dup);
	MPI_Intercomm_merge(dup, side, &merged);
	MPI_Comm_rank(merged, &n);
	CHECK(sum_of(merged) == size && n == (side ? (size + 1) / 2 + mine : mine));
	MPI_Comm_free(&merged);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	groups();
	communicators();
	between();
	return end();
}

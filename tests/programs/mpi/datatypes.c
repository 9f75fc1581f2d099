/* Every constructor of datatypes, what is asked of them, packing. */
#include <stddef.h>
#include "check.h"

struct mixed {
	char tag;
	double value;
	int pair[2];
};

/* Sends to itself and compares bytes at the places that it covers; then the same packed. */
static void travels(MPI_Datatype type, int combiner)
{
	enum { ROOM = 4096 };
	static unsigned char from[ROOM], to[ROOM], again[ROOM];
	char packed[ROOM];
	int position = 0, need, n, ni, na, nd, got, size_of;
	int integers[64];
	MPI_Aint addresses[64], lb, extent, true_lb, true_extent;
	MPI_Count big, big_lb, big_extent;
	MPI_Datatype inner[8], copy;
	MPI_Request request;
	MPI_Status status;

	MPI_Type_commit(&type);
	MPI_Type_get_envelope(type, &ni, &na, &nd, &got);
	CHECK(got == combiner && ni <= 64 && na <= 64 && nd <= 8);
	if (combiner != MPI_COMBINER_NAMED) {
		MPI_Type_get_contents(type, ni, na, nd, integers, addresses, inner);
		for (int i = 0; i < nd; i++) {
			int a, b, c, d;

			MPI_Type_get_envelope(inner[i], &a, &b, &c, &d);
			if (d != MPI_COMBINER_NAMED)
				MPI_Type_free(&inner[i]);
		}
	}
	MPI_Type_size(type, &size_of);
	MPI_Type_size_x(type, &big);
	CHECK(big == size_of);
	MPI_Type_get_extent(type, &lb, &extent);
	MPI_Type_get_extent_x(type, &big_lb, &big_extent);
	CHECK(big_lb == lb && big_extent == extent);
	MPI_Type_get_true_extent(type, &true_lb, &true_extent);
	MPI_Type_get_true_extent_x(type, &big_lb, &big_extent);
	CHECK(big_lb == true_lb && big_extent == true_extent);
	CHECK(true_lb >= 0 && true_lb + extent + true_extent < ROOM);

	for (int i = 0; i < ROOM; i++)
		from[i] = (unsigned char)(i * 7 + rank);
	memset(to, 0, ROOM);
	memset(again, 0, ROOM);
	MPI_Irecv(to, 2, type, rank, 4, MPI_COMM_WORLD, &request);
	MPI_Type_dup(type, &copy);
	MPI_Send(from, 2, copy, rank, 4, MPI_COMM_WORLD);
	MPI_Type_free(&copy);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, type, &n);
	CHECK(n == 2);
	MPI_Get_elements(&status, type, &n);
	MPI_Get_elements_x(&status, type, &big);
	CHECK(n == big && n >= 2);

	MPI_Pack_size(2, type, MPI_COMM_WORLD, &need);
	CHECK(need >= 2 * size_of && need <= ROOM);
	MPI_Pack(from, 2, type, packed, ROOM, &position, MPI_COMM_WORLD);
	CHECK(position == 2 * size_of);
	position = 0;
	MPI_Unpack(packed, ROOM, &position, again, 2, type, MPI_COMM_WORLD);
	CHECK(!memcmp(to, again, ROOM));
	for (int i = 0; i < ROOM; i++)
		CHECK(to[i] == 0 || to[i] == from[i]);
	MPI_Type_free(&type);
	CHECK(type == MPI_DATATYPE_NULL);
}

static void constructors(void)
{
	int lengths[3] = {1, 2, 1}, places[3] = {0, 3, 8}, sizes[2] = {6, 5}, part[2] = {2, 3}, starts[2] = {1, 1};
	MPI_Aint bytes[3] = {0, 24, 64};
	MPI_Aint fields[3] = {offsetof(struct mixed, tag), offsetof(struct mixed, value), offsetof(struct mixed, pair)};
	int counts[3] = {1, 1, 2};
	MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, type, inner;

	MPI_Type_contiguous(5, MPI_SHORT, &type);
	travels(type, MPI_COMBINER_CONTIGUOUS);
	MPI_Type_vector(3, 2, 5, MPI_INT, &type);
	travels(type, MPI_COMBINER_VECTOR);
	MPI_Type_create_hvector(3, 2, 40, MPI_INT, &type);
	travels(type, MPI_COMBINER_HVECTOR);
	MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type);
	travels(type, MPI_COMBINER_INDEXED);
	MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
	travels(type, MPI_COMBINER_HINDEXED);
	MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
	travels(type, MPI_COMBINER_INDEXED_BLOCK);
	MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
	travels(type, MPI_COMBINER_HINDEXED_BLOCK);
	MPI_Type_create_struct(3, counts, fields, types, &type);
	travels(type, MPI_COMBINER_STRUCT);
	MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type);
	travels(type, MPI_COMBINER_SUBARRAY);
	MPI_Type_create_darray(2, 0, 2, (int[2]){8, 4}, (int[2]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
			       (int[2]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, (int[2]){2, 1}, MPI_ORDER_C,
			       MPI_INT, &type);
	travels(type, MPI_COMBINER_DARRAY);
	MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
	MPI_Type_create_resized(inner, 0, 48, &type);
	MPI_Type_free(&inner);
	travels(type, MPI_COMBINER_RESIZED);
	MPI_Type_contiguous(3, MPI_CHAR, &inner);
	MPI_Type_dup(inner, &type);
	MPI_Type_free(&inner);
	travels(type, MPI_COMBINER_DUP);
}

static void named(void)
{
	char name[MPI_MAX_OBJECT_NAME];
	int n;
	MPI_Datatype type;

	MPI_Type_get_name(MPI_DOUBLE, name, &n);
	CHECK(!strcmp(name, "MPI_DOUBLE"));
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_name(type, "two");
	MPI_Type_get_name(type, name, &n);
	CHECK(!strcmp(name, "two") && n == 3);
	MPI_Type_free(&type);
	MPI_Type_match_size(MPI_TYPECLASS_REAL, sizeof(double), &type);
	MPI_Type_size(type, &n);
	CHECK(n == sizeof(double));
}

static void external(void)
{
	int out[3] = {1, -2, 3 + rank}, in[3] = {0};
	char room[64];
	MPI_Aint need, position = 0;

	MPI_Pack_external_size("external32", 3, MPI_INT, &need);
	CHECK(need == 12);
	MPI_Pack_external("external32", out, 3, MPI_INT, room, sizeof(room), &position);
	CHECK(position == 12 && room[3] == 1 && room[0] == 0); /* big endian */
	position = 0;
	MPI_Unpack_external("external32", room, sizeof(room), &position, in, 3, MPI_INT);
	CHECK(!memcmp(in, out, sizeof(in)));
}

static void partly(void)
{
	MPI_Datatype pair;
	MPI_Status status;
	int data[6] = {0}, n;
	MPI_Count count;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Sendrecv((int[3]){1, 2, 3}, 3, MPI_INT, rank, 1, data, 3, pair, rank, 1, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, pair, &n);
	CHECK(n == MPI_UNDEFINED && data[2] == 3 && data[3] == 0);
	MPI_Get_elements(&status, pair, &n);
	CHECK(n == 3);
	MPI_Status_set_elements_x(&status, MPI_INT, 5);
	MPI_Get_elements_x(&status, MPI_INT, &count);
	CHECK(count == 5);
	MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	constructors();
	named();
	external();
	partly();
	return end();
}

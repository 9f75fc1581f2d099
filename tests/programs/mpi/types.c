/* Derived datatypes: constructors, queries, packing, absolute addresses, attributes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static int left, right;

static unsigned long sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	unsigned long h = 5381;

	while (len--)
		h = h * 33 + *p++;
	return h;
}

static void describe(const char *what, MPI_Datatype type)
{
	int bytes, ni, na, nd, combiner;
	MPI_Aint lb, extent, true_lb, true_extent;

	MPI_Type_size(type, &bytes);
	MPI_Type_get_extent(type, &lb, &extent);
	MPI_Type_get_true_extent(type, &true_lb, &true_extent);
	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	printf("%d: %s size %d lb %ld extent %ld true %ld %ld envelope %d %d %d %d\n", rank, what,
	       bytes, lb, extent, true_lb, true_extent, ni, na, nd, combiner);
}

/* Sends `count` of a type over a patterned buffer to the right, blocking and not. */
static void exchange(const char *what, MPI_Datatype type, int count)
{
	static char from[8192], to[8192], later[8192];
	MPI_Request request;

	MPI_Type_commit(&type);
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + rank);
	memset(to, 1, sizeof(to));
	memset(later, 2, sizeof(later));
	MPI_Sendrecv(from + 2048, count, type, right, 1, to + 2048, count, type, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Irecv(later + 2048, count, type, left, 2, MPI_COMM_WORLD, &request);
	MPI_Send(from + 2048, count, type, right, 2, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	describe(what, type);
	printf("%d: %s %lx %lx\n", rank, what, sum(to, sizeof(to)), sum(later, sizeof(later)));
	MPI_Type_free(&type);
	if (type != MPI_DATATYPE_NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static void constructors(void)
{
	MPI_Datatype type, base, parts[] = { MPI_INT, MPI_DOUBLE, MPI_CHAR };
	int lengths[] = { 2, 1, 3 }, offsets[] = { 5, 0, 9 };
	MPI_Aint bytes[] = { 0, 16, 40 };

	MPI_Type_contiguous(7, MPI_SHORT, &type);
	exchange("contiguous", type, 3);
	MPI_Type_vector(4, 2, 5, MPI_INT, &type);
	exchange("vector", type, 2);
	MPI_Type_create_hvector(4, 1, -24, MPI_DOUBLE, &type);
	exchange("hvector", type, 1);
	MPI_Type_indexed(3, lengths, offsets, MPI_FLOAT, &type);
	exchange("indexed", type, 2);
	MPI_Type_create_hindexed(3, lengths, bytes, MPI_LONG, &type);
	exchange("hindexed", type, 1);
	MPI_Type_create_indexed_block(3, 2, offsets, MPI_INT, &type);
	exchange("indexed_block", type, 1);
	MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
	exchange("hindexed_block", type, 1);
	MPI_Type_create_struct(3, lengths, bytes, parts, &base);
	MPI_Type_create_resized(base, -8, 64, &type);
	exchange("resized", type, 5);
	MPI_Type_dup(base, &type);
	exchange("struct", type, 2);
	MPI_Type_free(&base);
	MPI_Type_create_subarray(2, (int[]){ 10, 12 }, (int[]){ 3, 4 }, (int[]){ 2, 5 }, MPI_ORDER_C,
				 MPI_INT, &type);
	exchange("subarray", type, 2);
	MPI_Type_create_darray(4, 1, 2, (int[]){ 8, 8 },
			       (int[]){ MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC },
			       (int[]){ MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG },
			       (int[]){ 2, 2 }, MPI_ORDER_C, MPI_INT, &type);
	exchange("darray", type, 1);
}

/* Fields far apart, by absolute address: what lies between is not the message's. */
static int near_one;

static void absolute(void)
{
	double *far_one = malloc(8 << 20), *other = malloc(8 << 20), on_stack = rank + 0.5;
	MPI_Aint where[3];
	MPI_Datatype type;
	MPI_Request request;

	far_one[1000] = rank * 3.0;
	near_one = rank * 11;
	MPI_Get_address(&far_one[1000], &where[0]);
	MPI_Get_address(&near_one, &where[1]);
	MPI_Get_address(&on_stack, &where[2]);
	MPI_Type_create_struct(3, (int[]){ 1, 1, 1 }, where,
			       (MPI_Datatype[]){ MPI_DOUBLE, MPI_INT, MPI_DOUBLE }, &type);
	MPI_Type_commit(&type);
	MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, right, 3, left, 3, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	printf("%d: absolute %g %d %g\n", rank, far_one[1000], near_one, on_stack);
	char packed[64];
	int position = 0;

	MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
	MPI_Irecv(MPI_BOTTOM, 1, type, left, 4, MPI_COMM_WORLD, &request);
	MPI_Send((double[]){ 1 }, 1, MPI_DOUBLE, right, 5, MPI_COMM_WORLD);
	MPI_Recv(other, 1, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(packed, position, MPI_PACKED, right, 4, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	printf("%d: absolute later %g %d %g\n", rank, far_one[1000], near_one, on_stack);
	MPI_Type_free(&type);
	free(far_one);
	free(other);
}

static void packing(void)
{
	char buffer[256];
	int position = 0, n[3] = { rank, rank + 1, rank + 2 }, got[3], room;
	double x = rank / 4.0, y;

	MPI_Pack_size(3, MPI_INT, MPI_COMM_WORLD, &room);
	MPI_Pack(n, 3, MPI_INT, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
	MPI_Pack(&x, 1, MPI_DOUBLE, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
	MPI_Sendrecv_replace(buffer, position, MPI_PACKED, right, 1, left, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	position = 0;
	MPI_Unpack(buffer, sizeof(buffer), &position, got, 3, MPI_INT, MPI_COMM_WORLD);
	MPI_Unpack(buffer, sizeof(buffer), &position, &y, 1, MPI_DOUBLE, MPI_COMM_WORLD);
	printf("%d: unpacked %d %d %d %g, room %d position %d\n", rank, got[0], got[1], got[2], y,
	       room, position);
}

static void contents(void)
{
	MPI_Datatype column, type, inside[4];
	int ni, na, nd, combiner, integers[8];
	MPI_Aint addresses[8];
	char name[MPI_MAX_OBJECT_NAME];
	int len;

	MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &column);
	MPI_Type_create_struct(2, (int[]){ 1, 2 }, (MPI_Aint[]){ 8, 200 },
			       (MPI_Datatype[]){ column, MPI_INT }, &type);
	MPI_Type_free(&column);
	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	MPI_Type_get_contents(type, ni, na, nd, integers, addresses, inside);
	printf("%d: contents %d %d %d %ld %ld int %d\n", rank, integers[0], integers[1], integers[2],
	       addresses[0], addresses[1], inside[1] == MPI_INT);
	describe("inner", inside[0]);
	MPI_Type_free(&inside[0]);
	MPI_Type_set_name(type, "mine");
	MPI_Type_get_name(type, name, &len);
	printf("%d: name %s %d\n", rank, name, len);
	MPI_Type_get_name(MPI_DOUBLE, name, &len);
	printf("%d: name %s %d\n", rank, name, len);
	MPI_Type_free(&type);
}

static int deleted;

static int on_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
	deleted += *(int *)value + (type != MPI_DATATYPE_NULL) + (keyval >= 0) + *(int *)extra;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	MPI_Datatype type, copy;
	int keyval, value = 10, extra = 1000, flag, *got;

	MPI_Type_create_keyval(MPI_TYPE_DUP_FN, on_delete, &keyval, &extra);
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_attr(type, keyval, &value);
	MPI_Type_dup(type, &copy);
	MPI_Type_get_attr(copy, keyval, &got, &flag);
	printf("%d: attribute %d %d\n", rank, flag, *got);
	MPI_Type_free(&type);
	MPI_Type_free(&copy);
	MPI_Type_free_keyval(&keyval);
	printf("%d: deleted %d keyval invalid %d\n", rank, deleted, keyval == MPI_KEYVAL_INVALID);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	constructors();
	absolute();
	packing();
	contents();
	attributes();
	MPI_Finalize();
	return 0;
}

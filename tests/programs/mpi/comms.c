/* Communicators, groups, topologies, attributes, error handlers, info, names, environment. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void communicators(void)
{
	MPI_Comm half, copy, pair, same, none;
	int r, s, result, len, color = rank % 2;
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Group group, world;

	MPI_Comm_split(MPI_COMM_WORLD, color, -rank, &half);
	MPI_Comm_rank(half, &r);
	MPI_Comm_size(half, &s);
	printf("%d: half %d of %d\n", rank, r, s);
	MPI_Comm_dup(half, &copy);
	MPI_Comm_compare(half, copy, &result);
	MPI_Allreduce(&rank, &r, 1, MPI_INT, MPI_SUM, copy);
	printf("%d: compare %d sum %d\n", rank, result, r);
	MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &none);
	printf("%d: none %d\n", rank, none == MPI_COMM_NULL);
	if (none != MPI_COMM_NULL)
		MPI_Comm_free(&none);
	MPI_Comm_set_name(copy, "my copy");
	MPI_Comm_get_name(copy, name, &len);
	printf("%d: name %s %d\n", rank, name, len);
	MPI_Comm_get_name(MPI_COMM_WORLD, name, &len);
	printf("%d: name %s %d\n", rank, name, len);

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){ size - 1, 0 }, &group);
	MPI_Comm_create(MPI_COMM_WORLD, group, &pair);
	if (pair != MPI_COMM_NULL) {
		MPI_Status status;

		MPI_Comm_rank(pair, &r);
		r = r * 100 + rank;
		MPI_Sendrecv_replace(&r, 1, MPI_INT, rank == 0 ? 0 : 1, 0, MPI_ANY_SOURCE,
				     MPI_ANY_TAG, pair, &status);
		printf("%d: pair got %d from %d\n", rank, r, status.MPI_SOURCE);
		MPI_Comm_free(&pair);
	}
	if (rank == 0 || rank == size - 1) {
		MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &same);
		MPI_Comm_test_inter(same, &result);
		MPI_Comm_size(same, &s);
		printf("%d: group of %d inter %d\n", rank, s, result);
		MPI_Comm_free(&same);
	}
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same);
	MPI_Comm_size(same, &s);
	printf("%d: shared %d\n", rank, s);
	MPI_Comm_free(&same);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&half);
	printf("%d: freed %d %d\n", rank, copy == MPI_COMM_NULL, group == MPI_GROUP_NULL);
}

static void groups(void)
{
	MPI_Group world, a, b, c;
	int n, r, result, ranks[2] = { 0, 1 }, other[2];
	int range[1][3] = { { 0, size - 1, 2 } };

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, range, &a);
	MPI_Group_range_excl(world, 1, range, &b);
	MPI_Group_size(a, &n);
	MPI_Group_rank(a, &r);
	printf("%d: range %d %s\n", rank, n, r == MPI_UNDEFINED ? "out" : "in");
	MPI_Group_union(b, a, &c);
	MPI_Group_compare(world, c, &result);
	MPI_Group_translate_ranks(c, 2, ranks, world, other);
	printf("%d: union %d ranks %d %d\n", rank, result, other[0], other[1]);
	MPI_Group_free(&c);
	MPI_Group_intersection(a, b, &c);
	printf("%d: empty %d\n", rank, c == MPI_GROUP_EMPTY);
	MPI_Group_difference(world, a, &c);
	MPI_Group_compare(c, b, &result);
	printf("%d: difference %d\n", rank, result);
	MPI_Group_free(&c);
	MPI_Group_excl(world, 1, ranks, &c);
	MPI_Group_size(c, &n);
	printf("%d: excl %d\n", rank, n);
	MPI_Group_free(&c);
	MPI_Group_free(&b);
	MPI_Group_free(&a);
	MPI_Group_free(&world);
}

static void topologies(void)
{
	MPI_Comm cart, row;
	int dims[2] = { 0, 0 }, periods[2] = { 1, 0 }, coords[2], source, dest, r, kind, n;

	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
	MPI_Comm_rank(cart, &r);
	MPI_Cart_coords(cart, r, 2, coords);
	MPI_Cart_shift(cart, 0, 1, &source, &dest);
	MPI_Topo_test(cart, &kind);
	MPI_Cartdim_get(cart, &n);
	printf("%d: cart %dx%d at %d,%d shift %d %d topo %d dims %d\n", rank, dims[0], dims[1],
	       coords[0], coords[1], source, dest, kind, n);
	MPI_Cart_get(cart, 2, dims, periods, coords);
	MPI_Cart_rank(cart, coords, &n);
	printf("%d: periods %d %d rank %d\n", rank, periods[0], periods[1], n == r);
	MPI_Cart_sub(cart, (int[]){ 0, 1 }, &row);
	MPI_Comm_size(row, &n);
	MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &r);
	printf("%d: row %d map %d\n", rank, n, r);
	MPI_Comm_free(&row);
	MPI_Comm_free(&cart);
}

static int copies, deletes;

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	copies += comm == MPI_COMM_WORLD && keyval >= 0 && extra == &copies;
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)extra;
	deletes = deletes * 10 + (int)(long)value;
	return MPI_SUCCESS;
}

static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)keyval, (void)extra;
	printf("%d: finalizing %s %d\n", rank, (char *)value, comm == MPI_COMM_SELF);
	return MPI_SUCCESS;
}

static void attributes(void)
{
	MPI_Comm copy;
	int first, second, flag, *value;
	void *got = NULL;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
	printf("%d: tag ub %d %d\n", rank, flag, flag && *value >= 32767);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
	printf("%d: wtime global %d %d\n", rank, flag, flag ? *value : -1);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
	printf("%d: universe %d\n", rank, flag);
	MPI_Comm_create_keyval(on_copy, on_delete, &first, &copies);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &second, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, first, (void *)3);
	MPI_Comm_set_attr(MPI_COMM_WORLD, second, (void *)5);
	MPI_Comm_set_attr(MPI_COMM_WORLD, second, (void *)6);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_get_attr(copy, first, &got, &flag);
	printf("%d: copied %d %ld\n", rank, flag, (long)got);
	MPI_Comm_get_attr(copy, second, &got, &flag);
	printf("%d: not copied %d\n", rank, flag);
	MPI_Comm_free(&copy);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, second);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, first);
	MPI_Comm_free_keyval(&first);
	MPI_Comm_free_keyval(&second);
	printf("%d: copies %d deletes %d\n", rank, copies, deletes);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &first, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, first, "self");
}

static void handler(MPI_Comm *comm, int *code, ...)
{
	int class;

	MPI_Error_class(*code, &class);
	printf("%d: handler: class %d world %d\n", rank, class, *comm == MPI_COMM_WORLD);
}

static void errors(void)
{
	MPI_Errhandler mine, before, now;
	MPI_Comm copy;
	MPI_Status status;
	int err, value[4] = { 1, 2, 3, 4 }, len, class;
	char text[MPI_MAX_ERROR_STRING];

	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
	printf("%d: fatal %d\n", rank, before == MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	err = MPI_Send(value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
	MPI_Error_string(err, text, &len);
	printf("%d: %s\n", rank, text);
	err = MPI_Send(value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD);
	MPI_Error_class(err, &class);
	printf("%d: class %d\n", rank, class);
	err = MPI_Comm_rank(MPI_COMM_NULL, &len);
	MPI_Error_class(err, &class);
	printf("%d: class %d\n", rank, class);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_get_errhandler(copy, &now);
	printf("%d: inherited %d\n", rank, now == MPI_ERRORS_RETURN);
	/* a message too long for its buffer */
	MPI_Request request;

	MPI_Isend(value, 4, MPI_INT, rank, 3, copy, &request);
	err = MPI_Recv(value, 2, MPI_INT, rank, 3, copy, &status);
	MPI_Error_class(err, &class);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	printf("%d: truncated %d\n", rank, class == MPI_ERR_TRUNCATE);
	MPI_Comm_free(&copy);
	MPI_Comm_create_errhandler(handler, &mine);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
	MPI_Errhandler_free(&mine);
	MPI_Bcast(value, 1, MPI_INT, -7, MPI_COMM_WORLD);
	MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
	printf("%d: errhandler null %d\n", rank, mine == MPI_ERRHANDLER_NULL);
}

static void environment(void)
{
	MPI_Info info, copy;
	char value[64], key[MPI_MAX_INFO_KEY], host[MPI_MAX_PROCESSOR_NAME];
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	int flag, n, version, minor, provided, main_thread;
	double before = MPI_Wtime();
	int *memory;

	MPI_Info_create(&info);
	MPI_Info_set(info, "color", "green");
	MPI_Info_dup(info, &copy);
	MPI_Info_get(copy, "color", sizeof(value) - 1, value, &flag);
	MPI_Info_get_nkeys(copy, &n);
	MPI_Info_get_nthkey(copy, 0, key);
	printf("%d: info %d %s %d %s\n", rank, flag, value, n, key);
	MPI_Info_delete(copy, "color");
	MPI_Info_get(copy, "color", sizeof(value) - 1, value, &flag);
	printf("%d: info %d\n", rank, flag);
	MPI_Info_free(&copy);
	MPI_Info_free(&info);
	MPI_Get_processor_name(host, &n);
	printf("%d: host %d\n", rank, (int)strlen(host) == n);
	MPI_Get_version(&version, &minor);
	MPI_Get_library_version(library, &n);
	printf("%d: version %d.%d %s\n", rank, version, minor, library);
	MPI_Query_thread(&provided);
	MPI_Is_thread_main(&main_thread);
	printf("%d: thread %d %d\n", rank, provided <= MPI_THREAD_FUNNELED, main_thread);
	MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
	memory[24999] = 7;
	MPI_Free_mem(memory);
	MPI_Pcontrol(1, "any", 3);
	printf("%d: time %d tick %d\n", rank, MPI_Wtime() >= before, MPI_Wtick() > 0);
}

int main(int argc, char **argv)
{
	int flag;

	MPI_Initialized(&flag);
	printf("initialized %d argc %d %s\n", flag, argc, argv[0] ? "named" : "");
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	communicators();
	groups();
	topologies();
	attributes();
	errors();
	environment();
	MPI_Finalize();
	MPI_Finalized(&flag);
	printf("%d: finalized %d\n", rank, flag);
	return 0;
}

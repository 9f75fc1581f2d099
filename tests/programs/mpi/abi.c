/* What differs between MPI's ABIs, in words that do not: constants, statuses, callbacks, error classes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 100 };
static int rank, size, left, right;

static void statuses(void)
{
	MPI_Request requests[2 * MANY];
	MPI_Status all[2 * MANY], status;
	int values[MANY], sent = rank, count, flag, index, good = 0;
	int done[2 * MANY], n;

	for (int i = 0; i < MANY; i++) {
		MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, i, MPI_COMM_WORLD, &requests[i]);
		MPI_Isend(&sent, 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[MANY + i]);
	}
	MPI_Waitall(2 * MANY, requests, all);
	for (int i = 0; i < MANY; i++) {
		MPI_Get_count(&all[i], MPI_INT, &count);
		good += all[i].MPI_SOURCE == left && all[i].MPI_TAG == i && count == 1 && values[i] == left &&
			requests[i] == MPI_REQUEST_NULL;
	}
	printf("%d: waitall %d of %d\n", rank, good, MANY);
	MPI_Testany(2 * MANY, requests, &index, &flag, &status);
	printf("%d: testany %d undefined %d\n", rank, flag, index == MPI_UNDEFINED);
	MPI_Recv(values, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	printf("%d: proc null %d any tag %d count %d\n", rank, status.MPI_SOURCE == MPI_PROC_NULL,
	       status.MPI_TAG == MPI_ANY_TAG, count);
	MPI_Isend(&sent, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[0]);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	printf("%d: probe %d %d\n", rank, status.MPI_SOURCE == left, status.MPI_TAG);
	MPI_Recv(values, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Waitsome(1, requests, &n, done, MPI_STATUSES_IGNORE);
	MPI_Status_set_elements(&status, MPI_DOUBLE, 3);
	MPI_Get_elements(&status, MPI_DOUBLE, &count);
	MPI_Status_set_cancelled(&status, 1);
	MPI_Test_cancelled(&status, &flag);
	printf("%d: set %d cancelled %d\n", rank, count, flag);
}

static MPI_Datatype pair;

static void larger(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const double *a = in;
	double *b = inout;

	if (*type != pair)
		printf("%d: another type\n", rank);
	for (int i = 0; i < *len; i++, a += 2, b += 2)
		if (a[0] > b[0])
			memcpy(b, a, 2 * sizeof(*b));
}

static void reductions(void)
{
	double mine[2] = {rank, 10.0 * rank}, most[2];
	struct {
		int value, at;
	} least = {size - rank, rank};
	int counts[64], sum = rank + 1;
	MPI_Op op;

	MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
	MPI_Type_commit(&pair);
	MPI_Op_create(larger, 1, &op);
	MPI_Allreduce(mine, most, 1, pair, op, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
	printf("%d: most %g %g sum %d least %d at %d\n", rank, most[0], most[1], sum, least.value, least.at);
	for (int i = 0; i < size; i++)
		counts[i] = i == rank ? rank * rank : -1;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, counts, 1, MPI_INT, MPI_COMM_WORLD);
	printf("%d: gathered %d %d\n", rank, counts[0], counts[size - 1]);
	MPI_Op_free(&op);
	MPI_Type_free(&pair);
	printf("%d: null %d %d\n", rank, op == MPI_OP_NULL, pair == MPI_DATATYPE_NULL);
}

static void groups(void)
{
	MPI_Group world, one;
	int ranks[2] = {rank, MPI_PROC_NULL}, other[2], result, periods[1] = {0}, from, to, kind, dims[1] = {size};
	MPI_Comm dup, none, cart;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &right, &one);
	MPI_Group_translate_ranks(world, 2, ranks, one, other);
	MPI_Group_compare(world, one, &result);
	printf("%d: translated %d %d unequal %d\n", rank, other[0] == MPI_UNDEFINED, other[1] == MPI_PROC_NULL,
	       result == MPI_UNEQUAL);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
	MPI_Comm_split(dup, MPI_UNDEFINED, 0, &none);
	MPI_Topo_test(dup, &kind);
	printf("%d: congruent %d none %d topology %d\n", rank, result == MPI_CONGRUENT, none == MPI_COMM_NULL,
	       kind == MPI_UNDEFINED);
	MPI_Cart_create(dup, 1, dims, periods, 0, &cart);
	MPI_Cart_shift(cart, 0, 1, &from, &to);
	MPI_Topo_test(cart, &kind);
	printf("%d: shift %d %d cart %d\n", rank, rank == 0 ? from == MPI_PROC_NULL : from == rank - 1,
	       rank == size - 1 ? to == MPI_PROC_NULL : to == rank + 1, kind == MPI_CART);
	MPI_Comm_free(&cart);
	MPI_Comm_free(&dup);
	MPI_Group_free(&one);
	MPI_Group_free(&world);
}

/* The integers of the constructor, in which constants are. */
static void contents(const char *what, MPI_Datatype type)
{
	int integers[20], ni, na, nd, combiner;
	MPI_Aint addresses[1];
	MPI_Datatype inside[1];

	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	MPI_Type_get_contents(type, 20, 1, 1, integers, addresses, inside);
	printf("%d: %s:", rank, what);
	for (int i = 0; i < ni; i++)
		printf(" %d", integers[i]);
	printf("\n");
	MPI_Type_free(&type);
}

static void grids(void)
{
	const int orders[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
	const int kinds[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
	int sizes[3] = {8, 6, 4}, parts[3] = {2, 3, 1}, starts[3] = {1, 0, 2}, ones[3] = {1, 1, 1};
	MPI_Datatype type;

	for (int order = 0; order < 2; order++)
		for (int dims = 1; dims < 4; dims++) {
			MPI_Type_create_subarray(dims, sizes, parts, starts, orders[order], MPI_INT, &type);
			contents("subarray", type);
			for (int kind = 0; kind < 6; kind++) {
				int distribs[3], dargs[3];
				for (int dim = 0; dim < dims; dim++) {
					distribs[dim] = kinds[(kind + dim) % 3];
					dargs[dim] = kind < 3 || distribs[dim] == MPI_DISTRIBUTE_NONE
							     ? MPI_DISTRIBUTE_DFLT_DARG
							     : sizes[dim];
				}
				MPI_Type_create_darray(1, 0, dims, sizes, distribs, dargs, ones, orders[order],
						       MPI_INT, &type);
				contents("grid", type);
			}
		}
}

static void types(void)
{
	int sizes[2] = {4, 4}, distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
	int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, psizes[2] = {2, 1}, bytes, ni, na, nd, combiner;
	int lengths[2] = {1, 2};
	MPI_Aint offsets[2] = {0, 8};
	MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, type, inside[2];
	int integers[8];
	MPI_Aint addresses[8];

	MPI_Type_create_darray(2, 0, 2, sizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &type);
	MPI_Type_size(type, &bytes);
	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	printf("%d: darray %d bytes %d\n", rank, combiner == MPI_COMBINER_DARRAY, bytes);
	MPI_Type_free(&type);
	MPI_Type_create_struct(2, lengths, offsets, parts, &type);
	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	MPI_Type_get_contents(type, ni, na, nd, integers, addresses, inside);
	printf("%d: struct %d of %d: %d %d\n", rank, combiner == MPI_COMBINER_STRUCT, integers[0], inside[0] == MPI_INT,
	       inside[1] == MPI_DOUBLE);
	MPI_Type_free(&type);
}

static int copied;

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	(void)extra;
	copied += comm == MPI_COMM_WORLD && keyval != MPI_KEYVAL_INVALID;
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)keyval, (void)value, (void)extra;
	copied += comm != MPI_COMM_NULL ? 10 : 0;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	int keyval, plain, flag, *tag_ub = NULL;
	char *value = NULL, text[] = "text";
	MPI_Comm dup;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
	printf("%d: tag ub %d\n", rank, flag && *tag_ub >= 32767);
	MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
	MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, text);
	MPI_Comm_set_attr(MPI_COMM_WORLD, plain, text);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_get_attr(dup, keyval, &value, &flag);
	printf("%d: copied %d %s\n", rank, flag, value);
	MPI_Comm_get_attr(dup, plain, &value, &flag);
	printf("%d: copied %d %s\n", rank, flag, value);
	MPI_Comm_free(&dup);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, plain);
	MPI_Comm_free_keyval(&keyval);
	MPI_Comm_free_keyval(&plain);
	printf("%d: calls %d invalid %d\n", rank, copied, keyval == MPI_KEYVAL_INVALID);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
	int class;

	MPI_Error_class(*code, &class);
	printf("%d: handler %d rank %d\n", rank, *comm == MPI_COMM_WORLD, class == MPI_ERR_RANK);
}

static void errors(void)
{
	MPI_Errhandler handler;
	int class, err, value[4] = {0};
	MPI_Status status;

	MPI_Comm_create_errhandler(on_error, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Send(value, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Errhandler_free(&handler);
	err = MPI_Sendrecv(value, 4, MPI_INT, right, 1, value + 2, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
	MPI_Error_class(err, &class);
	printf("%d: truncated %d handler %d\n", rank, class == MPI_ERR_TRUNCATE, handler == MPI_ERRHANDLER_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	err = MPI_Comm_rank(MPI_COMM_NULL, value);
	MPI_Error_class(err, &class);
	printf("%d: no communicator %d\n", rank, class == MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	printf("%d: threads %d\n", rank, provided >= MPI_THREAD_FUNNELED);
	statuses();
	reductions();
	groups();
	types();
	grids();
	attributes();
	errors();
	MPI_Finalize();
	return 0;
}

/* User-defined operations.
 *
 * The real MPI calls a trampoline of ours, which calls the program's function in the upper half on copies in scratch
 * memory: the real MPI's temporary buffers are lower memory, and a replay, which has no MPI, must be able to make the
 * same call.
 */
#include "lower/objects/pending.h"
#include "lower/objects/real.h"

#define OPS 256

static void *upper_functions[OPS], *upper_callers[OPS];
/* Datatype of the reduction in which this thread is. */
static __thread const struct vtype *reduced_type;

/* Arguments of the program's function besides the two vectors. */
struct op_arguments {
	int len;
	int reserved;
	void *datatype;
};

static const struct vtype *type_for(MPI_Datatype real)
{
	const struct table *table = &tables[RDB_TYPE];

	if (reduced_type && reduced_type->o.real == BITS(real))
		return reduced_type;
	if (pending_type(real))
		return pending_type(real);
	for (uint32_t id = RDB_NULL_ID; id < table->next && id < table->size; id++) {
		if (table->slot[id]->real == BITS(real))
			return (struct vtype *)table->slot[id];
	}
	host->fatal("the MPI library gave a user operation a datatype the program never made");
}

static void op_call(int op, void *in, void *inout, int *len, MPI_Datatype *datatype)
{
	bool held = host->hold(true);
	const struct vtype *type = type_for(*datatype);
	MPI_Aint rest = (*len - 1) * type->extent;
	MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);
	size_t bytes = *len > 0 ? (rest < 0 ? -rest : rest) + type->true_extent : 0;
	char *a = host->scratch(0, bytes), *b = host->scratch(1, bytes);
	struct op_arguments *arguments = host->scratch(2, sizeof(*arguments));
	uint64_t args[] = {
		(uint64_t)(a - first),          (uint64_t)(b - first),         (uint64_t)&arguments->len,
		(uint64_t)&arguments->datatype, (uint64_t)upper_functions[op],
	};
	const struct op_arguments given = {*len, 0, upper_handle(RDB_TYPE, type->o.id)};
	struct rdb_span spans[] = {
		{a, bytes, (char *)in + first},
		{b, bytes, (char *)inout + first},
		{arguments, sizeof(*arguments), &given},
	};
	const struct vtype *outer = reduced_type;

	if (type->blocks)
		host->fatal("a user operation on a datatype of absolute addresses is not "
			    "supported yet");
	host->upcall(upper_callers[op] ? upper_callers[op] : upper_functions[op], args, 5, spans, 3);
	reduced_type = outer;
	memcpy((char *)inout + first, b, bytes);
	host->hold(held);
}

/* clang-format off */
#define OP1(n) static void op_##n(void *in, void *inout, int *len, MPI_Datatype *type) \
	{ op_call(0x##n, in, inout, len, type); }
#define OP16(h) OP1(h##0) OP1(h##1) OP1(h##2) OP1(h##3) OP1(h##4) OP1(h##5) OP1(h##6) OP1(h##7) \
	OP1(h##8) OP1(h##9) OP1(h##a) OP1(h##b) OP1(h##c) OP1(h##d) OP1(h##e) OP1(h##f)
#define NAME16(h) op_##h##0, op_##h##1, op_##h##2, op_##h##3, op_##h##4, op_##h##5, op_##h##6, \
	op_##h##7, op_##h##8, op_##h##9, op_##h##a, op_##h##b, op_##h##c, op_##h##d, op_##h##e, \
	op_##h##f,

OP16(0) OP16(1) OP16(2) OP16(3) OP16(4) OP16(5) OP16(6) OP16(7)
OP16(8) OP16(9) OP16(a) OP16(b) OP16(c) OP16(d) OP16(e) OP16(f)

static MPI_User_function *const trampolines[OPS] = {
	NAME16(0) NAME16(1) NAME16(2) NAME16(3) NAME16(4) NAME16(5) NAME16(6) NAME16(7)
	NAME16(8) NAME16(9) NAME16(a) NAME16(b) NAME16(c) NAME16(d) NAME16(e) NAME16(f)
};
/* clang-format on */

/* user_fn, commute, op, and a function that calls user_fn with translated arguments, or NULL */
int64_t real_Op_create(const uint64_t *a)
{
	MPI_Op real;
	struct vobject *op;
	int slot = 0, rc;

	while (slot < OPS && upper_functions[slot])
		slot++;
	if (slot == OPS)
		host->fatal("more than %d user-defined MPI operations at a time are not supported", OPS);
	if (!a[0] || !a[2])
		return MPI_ERR_ARG;
	rc = PMPI_Op_create(trampolines[slot], (int)a[1], &real);
	if (rc != MPI_SUCCESS)
		return rc;
	op = object_new(RDB_OP, real);
	((struct vop *)op)->slot = slot + 1;
	upper_functions[slot] = (void *)a[0];
	upper_callers[slot] = (void *)a[3];
	put_handle((void **)a[2], RDB_OP, op->id);
	return rc;
}

void op_functions(const struct vobject *op, void **function, void **caller)
{
	int slot = ((const struct vop *)op)->slot - 1;

	*function = upper_functions[slot];
	*caller = upper_callers[slot];
}

int op_again(struct vobject *op, void *function, void *caller, int commute)
{
	MPI_Op real;
	int slot = 0, rc;

	while (slot < OPS && upper_functions[slot])
		slot++;
	rc = slot == OPS ? MPI_ERR_OP : PMPI_Op_create(trampolines[slot], commute, &real);
	if (rc != MPI_SUCCESS)
		return rc;
	op->real = BITS(real);
	((struct vop *)op)->slot = slot + 1;
	upper_functions[slot] = function;
	upper_callers[slot] = caller;
	return rc;
}

/* Called when no reduction needs the operation any more. */
void op_release(struct vobject *op)
{
	upper_functions[((struct vop *)op)->slot - 1] = NULL;
}

/* op */
int64_t real_Op_free(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vobject *op = op_of(upper ? rdb_id(RDB_OP, *upper) : 0);
	MPI_Op real = op->real;
	int rc = PMPI_Op_free(&real);

	if (rc != MPI_SUCCESS)
		return rc;
	object_drop(op);
	put_handle(upper, RDB_OP, RDB_NULL_ID);
	return rc;
}

/* While a user operation or another thread runs, upper memory must be as in a replay, without the partial results that
 * the real MPI keeps in the result buffer.  So the real MPI works on a copy. */
void reduction_begin(struct reduction *red, struct vobject *op, const struct vtype *type, void *upper, int64_t count)
{
	MPI_Aint first = type->true_lb;
	size_t bytes = count > 0 ? (count - 1) * type->extent + type->true_extent : 0;

	*red = (struct reduction){.buffer = upper, .upper = upper, .type = type, .outer_type = reduced_type};
	reduced_type = type;
	if ((op->id < RDB_FIRST_DYNAMIC && !apart()) || !bytes || !upper || type->blocks || type->extent < 0)
		return;
	red->room = needed(malloc(bytes));
	memcpy(red->room, (char *)upper + first, bytes);
	red->buffer = (char *)red->room - first;
}

void reduction_result(struct reduction *red, int64_t count)
{
	const struct vtype *type = red->type;

	if (red->room && count > 0)
		copy_typed(red->upper, red->buffer, count, type);
	out_typed(red->upper, count, type);
}

void reduction_end(struct reduction *red)
{
	reduced_type = red->outer_type;
	free(red->room);
}

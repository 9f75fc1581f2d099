/* Operations of the program. */
#include "callbacks.h"
#include "stub.h"

#ifdef RDB_CORE
RDB_MPI(int, Op_create, MPI_User_function *fn, int commute, MPI_Op *op)
{
	int err = (int)rdb_call(
		RDB_Op_create, 4,
		(uint64_t[]){(uint64_t)fn, (uint64_t)(int64_t)commute, (uint64_t)op, (uint64_t)rdb_call_op});

	return err ? rdb_error(MPI_COMM_WORLD, err, "MPI_Op_create") : MPI_SUCCESS;
}

RDB_MPI(int, Op_create_c, MPI_User_function_c *fn, int commute, MPI_Op *op)
{
	int err = (int)rdb_call(
		RDB_Op_create, 4,
		(uint64_t[]){(uint64_t)fn, (uint64_t)(int64_t)commute, (uint64_t)op, (uint64_t)rdb_call_op_c});

	return err ? rdb_error(MPI_COMM_WORLD, err, "MPI_Op_create_c") : MPI_SUCCESS;
}
#else
#include "fortran.h"

/* Open MPI's Fortran library marks an operation as a Fortran one after it was made. */
struct op {
	MPI_User_function *fn;
	const struct rdb_body *body;
	int large; /* fn takes a large count */
};
enum { OP_STATE = 0x100 }; /* offset of the pointer to struct op in the body */

static void call(void *in, void *inout, int *len, MPI_Datatype *type, const struct op *op)
{
	MPI_Count count = *len;
	MPI_Fint number;

	if (op->large) {
		((MPI_User_function_c *)(void *)op->fn)(in, inout, &count, type);
		return;
	}
	if (!(*(const int *)(op->body->bytes + OP_FLAGS) & OP_IS_FORTRAN)) {
		op->fn(in, inout, len, type);
		return;
	}
	number = rdb_fortran_number(RDB_TYPE, *type);
	((void (*)(void *, void *, MPI_Fint *, MPI_Fint *))op->fn)(in, inout, len, &number);
}

static void made(struct op *state, MPI_Op *op)
{
	struct rdb_body *body = rdb_body(RDB_OP, rdb_id(RDB_OP, *op));
	struct op **place = (struct op **)(body->bytes + OP_STATE);

	if (*place) /* state of an operation that had this id before */
		rdb_free(*place, sizeof(**place));
	*place = state;
	*(int *)(body->bytes + OP_FLAGS) = 0;
	state->body = body;
	*op = &body->handle;
}

static int create(MPI_User_function *fn, int large, int commute, MPI_Op *op, const char *name)
{
	struct op *state = fn ? rdb_alloc(sizeof(*state)) : NULL;
	int err = MPI_ERR_ARG;

	if (state) {
		state->fn = fn;
		state->large = large;
		err = (int)rdb_call(
			RDB_Op_create, 4,
			(uint64_t[]){(uint64_t)state, (uint64_t)(int64_t)commute, (uint64_t)op, (uint64_t)call});
	}
	if (err) {
		if (state)
			rdb_free(state, sizeof(*state));
		return rdb_error(MPI_COMM_WORLD, err, name);
	}
	made(state, op);
	return MPI_SUCCESS;
}

RDB_MPI(int, Op_create, MPI_User_function *fn, int commute, MPI_Op *op)
{
	return create(fn, 0, commute, op, "MPI_Op_create");
}

RDB_MPI(int, Op_create_c, MPI_User_function_c *fn, int commute, MPI_Op *op)
{
	return create((MPI_User_function *)(void *)fn, 1, commute, op, "MPI_Op_create_c");
}
#endif

/* Operations of the program's own. */
#include "callbacks.h"
#include "stub.h"

RDB_MPI(int, Op_create, MPI_User_function *fn, int commute, MPI_Op *op)
{
	int err = (int)rdb_call(RDB_Op_create, 4,
				(uint64_t[]){(uint64_t)fn, (uint64_t)(int64_t)commute, (uint64_t)op, RDB_OP_CALLER});

	return err ? rdb_error(MPI_COMM_WORLD, err, "MPI_Op_create") : MPI_SUCCESS;
}

/* Format of MPI handles in the upper half, for the stub and for the real side.
 *
 * The stub proper has Open MPI's ABI (other ABIs: shim/), in which a handle is a pointer.  A predefined handle is the
 * address of a data symbol of the stub (or of the program's copy of it) that begins with struct rdb_predef.  A dynamic
 * handle is RDB_DYNAMIC | class << 48 | id, which is no valid address.  If Open MPI's Fortran library looks into an
 * object, its handle is the address of a body (stub/bodies.c), which begins with struct rdb_predef, too.
 */
#pragma once
#include <stdint.h>

enum rdb_class {
	RDB_COMM = 1,
	RDB_TYPE,
	RDB_GROUP,
	RDB_OP,
	RDB_REQUEST,
	RDB_MESSAGE,
	RDB_INFO,
	RDB_ERRHANDLER,
	RDB_WIN,
	RDB_FILE,
	RDB_SESSION,
	RDB_CLASSES
};

#define RDB_PREDEF_MAGIC 0x6462722dU /* "-rdb" */
#define RDB_DYNAMIC 0x4000000000000000ull
#define RDB_NULL_ID 1         /* MPI_COMM_NULL, MPI_REQUEST_NULL, ... of every class */
#define RDB_KEYVALS_OWN 16    /* keyvals below are predefined */
#define RDB_KEYVAL_DELETED 15 /* asked by the stub: does MPI_Finalize delete the attributes of MPI_COMM_WORLD? */
#define RDB_FIRST_DYNAMIC 256 /* ids below are predefined, the same in every run */

/* What rdb_unsupported() says about a function, after its name. */
#define RDB_IS_INTERNAL " is not supported yet: it is internal to the MPI library"
#define RDB_IS_ABSENT ": the MPI library that the program runs with lacks this function"

struct rdb_predef {
	uint32_t magic;
	uint16_t class;
	uint16_t fortran; /* its number in mpif.h */
	const char *name;
	uint32_t id;
};

static inline void *rdb_handle(unsigned class, uint32_t id)
{
	return (void *)(RDB_DYNAMIC | (uint64_t) class << 48 | id);
}

/* The id of an upper handle; 0 if it is not a handle of this class. */
static inline uint32_t rdb_id(unsigned class, const void *handle)
{
	uint64_t value = (uint64_t)handle;
	const struct rdb_predef *predef = handle;

	if (value >> 48)
		return value >> 48 == (RDB_DYNAMIC >> 48 | class) ? (uint32_t)value : 0;
	if (value < 4096 || predef->magic != RDB_PREDEF_MAGIC || predef->class != class)
		return 0;
	return predef->id;
}

/* Addresses of the stub's predefined handles, by class and id, for the real side.  Passed in MPI_Init, since copy
 * relocations may have moved them into the program. */
struct rdb_predef_table {
	const struct rdb_predef *const *handles[RDB_CLASSES];
	uint32_t count[RDB_CLASSES];
};

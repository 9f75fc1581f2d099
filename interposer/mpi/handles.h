/* What an MPI handle looks like in the upper half, for the stub and for the real side.
 *
 * A handle is a pointer in Open MPI's ABI, which is what the stub proper has (other ABIs: shim/).  A predefined one is the address of a data symbol of the
 * stub (or of the program's copy of it) that begins with struct rdb_predef; a dynamic one is no
 * address at all: RDB_DYNAMIC | class << 48 | id, which no user address can equal; or, where Open MPI's Fortran
 * library will look into it, the address of a body (stub/bodies.c), which begins with struct rdb_predef, too.
 */
#ifndef RDB_MPI_HANDLES_H
#define RDB_MPI_HANDLES_H
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
#define RDB_FIRST_DYNAMIC 256 /* ids below are predefined, the same in every run */

struct rdb_predef {
	uint32_t magic;
	uint16_t class;
	uint16_t fortran; /* mpif.h's number of it */
	const char *name;
	uint32_t id; /* of a predefined handle, or of an object that Open MPI's Fortran library looks into */
};

static inline void *rdb_handle(unsigned class, uint32_t id)
{
	return (void *)(RDB_DYNAMIC | (uint64_t) class << 48 | id);
}

/* The id of an upper handle; 0 if it is none of that class. */
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

/* What the stub shows the real side in MPI_Init: where its predefined handles are (the program
 * may have moved them by copy relocations), indexed by class and id. */
struct rdb_predef_table {
	const struct rdb_predef *const *handles[RDB_CLASSES];
	uint32_t count[RDB_CLASSES];
};

#endif

/* Init, Finalize, time, and functions that need no real MPI. */
#include <sys/syscall.h>
#include "arch/bytes.h"
#include "stub.h"

static int initialized, finalized; /* the program has called MPI_Init, MPI_Finalize */
static int begun, ended;           /* the real MPI was initialized, finalized */
static int begun_level;            /* thread level of the real MPI */

int rdb_alive(void);
int rdb_alive(void)
{
	return begun && !ended;
}

/* gcc may generate calls of these for loops and initialisers; there is no libc here. */
void *memset(void *to, int byte, size_t n)
{
	bytes_set(to, byte, n);
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	bytes_copy(to, from, n);
	return to;
}

void rdb_unsupported(const char *text)
{
	rdb_call(RDB_UNSUPPORTED, 1, (uint64_t[]){(uint64_t)text});
	__builtin_trap();
}

/* MPI_Info_create and sessions may be used before or without MPI_Init: initializes the real MPI all the same.  The
 * thread level that the program will ask for later is not known yet. */
int rdb_begin(int level)
{
	int err = 0;

	if (begun)
		return 0;
	err = (int)rdb_call(
		RDB_Init_thread, 5,
		(uint64_t[]){0, 0, (uint64_t)(int64_t)level, (uint64_t)&begun_level, (uint64_t)&rdb_predefined});
	if (err)
		return rdb_error(MPI_COMM_WORLD, err, "MPI_Session_init");
	begun = 1;
	return MPI_SUCCESS;
}

static int end(void)
{
	int err = (int)rdb_call(RDB_Finalize, 0, NULL);

	if (err)
		return rdb_error(MPI_COMM_WORLD, err, "MPI_Finalize");
	ended = 1;
	return MPI_SUCCESS;
}

int rdb_session_ended(void)
{
	return finalized && begun && !ended && !rdb_sessions_open() ? end() : MPI_SUCCESS;
}

/* A program that uses only sessions may open another one at any time, so the real MPI is finalized at exit. */
__attribute__((destructor)) static void at_exit(void)
{
	if (begun && !ended && !rdb_sessions_open() && (finalized || !initialized))
		end();
}

RDB_MPI(int, Init, int *argc, char ***argv)
{
	if (begun) {
		initialized = 1;
		return MPI_SUCCESS;
	}
	int err = (int)rdb_call(RDB_Init, 3, (uint64_t[]){(uint64_t)argc, (uint64_t)argv, (uint64_t)&rdb_predefined});

	if (err)
		return rdb_error(MPI_COMM_WORLD, err, "MPI_Init");
	initialized = begun = 1;
	return MPI_SUCCESS;
}

RDB_MPI(int, Init_thread, int *argc, char ***argv, int required, int *provided)
{
	if (begun) {
		*provided = required < begun_level ? required : begun_level;
		initialized = 1;
		return MPI_SUCCESS;
	}
	int err = (int)rdb_call(RDB_Init_thread, 5,
				(uint64_t[]){(uint64_t)argc, (uint64_t)argv, (uint64_t)(int64_t)required,
					     (uint64_t)provided, (uint64_t)&rdb_predefined});

	if (err)
		return rdb_error(MPI_COMM_WORLD, err, "MPI_Init_thread");
	initialized = begun = 1;
	begun_level = *provided;
	return MPI_SUCCESS;
}

RDB_MPI(int, T_init_thread, int required, int *provided)
{
	return (int)rdb_call(RDB_T_init_thread, 3,
			     (uint64_t[]){(uint64_t)(int64_t)required, (uint64_t)provided, (uint64_t)&rdb_predefined});
}

RDB_MPI(int, Finalize, void)
{
	int err = initialized ? rdb_attrs_end() : 0;

	if (err)
		return rdb_error(MPI_COMM_WORLD, err, "MPI_Finalize");
	if (!rdb_sessions_open())
		err = end();
	finalized = !err;
	return err;
}

RDB_MPI(int, Initialized, int *flag)
{
	*flag = initialized;
	return MPI_SUCCESS;
}

RDB_MPI(int, Finalized, int *flag)
{
	*flag = finalized;
	return MPI_SUCCESS;
}

RDB_MPI(int, Abort, MPI_Comm comm, int errorcode)
{
	rdb_call(RDB_Abort, 3, (uint64_t[]){rdb_id(RDB_COMM, comm), (uint64_t)(int64_t)errorcode, 0});
	raw_syscall(SYS_exit_group, errorcode, 0, 0, 0, 0, 0);
	__builtin_trap();
}

static double as_double(int64_t bits)
{
	union {
		int64_t bits;
		double value;
	} u = {.bits = bits};

	return u.value;
}

RDB_MPI(double, Wtime, void)
{
	return as_double(rdb_call(RDB_Wtime, 0, NULL));
}

RDB_MPI(double, Wtick, void)
{
	return as_double(rdb_call(RDB_Wtick, 0, NULL));
}

RDB_MPI(int, Pcontrol, const int level __attribute__((unused)), ...)
{
	return MPI_SUCCESS;
}

RDB_MPI(int, Get_address, const void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}

/* Macros in Open MPI's mpi.h. */
RDB_MPI(MPI_Aint, Aint_add, MPI_Aint base, MPI_Aint disp)
{
	return (MPI_Aint)((char *)base + disp);
}

RDB_MPI(MPI_Aint, Aint_diff, MPI_Aint addr1, MPI_Aint addr2)
{
	return (MPI_Aint)((char *)addr1 - (char *)addr2);
}

RDB_MPI(int, Address, void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}

/* Functions of MPI-1 that MPI-3 removed; old binaries use them. */
static int retired(uint32_t index, unsigned nargs, const uint64_t *args, const char *name)
{
	int err = (int)rdb_call(index, nargs, args);

	return err ? rdb_error(MPI_COMM_WORLD, err, name) : MPI_SUCCESS;
}

RDB_MPI(int, Type_hvector, int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *new)
{
	return retired(RDB_Type_create_hvector, 5,
		       (uint64_t[]){(uint64_t)(int64_t)count, (uint64_t)(int64_t)length, (uint64_t)stride,
				    rdb_id(RDB_TYPE, old), (uint64_t) new},
		       "MPI_Type_hvector");
}

RDB_MPI(int, Type_hindexed, int count, int *lengths, MPI_Aint *offsets, MPI_Datatype old, MPI_Datatype *new)
{
	return retired(RDB_Type_create_hindexed, 5,
		       (uint64_t[]){(uint64_t)(int64_t)count, (uint64_t)lengths, (uint64_t)offsets,
				    rdb_id(RDB_TYPE, old), (uint64_t) new},
		       "MPI_Type_hindexed");
}

RDB_MPI(int, Type_struct, int count, int *lengths, MPI_Aint *offsets, MPI_Datatype *types, MPI_Datatype *new)
{
	return retired(RDB_Type_create_struct, 5,
		       (uint64_t[]){(uint64_t)(int64_t)count, (uint64_t)lengths, (uint64_t)offsets, (uint64_t)types,
				    (uint64_t) new},
		       "MPI_Type_struct");
}

static int bounds(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent, const char *name)
{
	return retired(RDB_Type_get_extent, 3, (uint64_t[]){rdb_id(RDB_TYPE, type), (uint64_t)lb, (uint64_t)extent},
		       name);
}

RDB_MPI(int, Type_extent, MPI_Datatype type, MPI_Aint *extent)
{
	MPI_Aint lb;

	return bounds(type, &lb, extent, "MPI_Type_extent");
}

RDB_MPI(int, Type_lb, MPI_Datatype type, MPI_Aint *lb)
{
	MPI_Aint extent;

	return bounds(type, lb, &extent, "MPI_Type_lb");
}

RDB_MPI(int, Type_ub, MPI_Datatype type, MPI_Aint *ub)
{
	MPI_Aint lb = 0, extent = 0;
	int err = bounds(type, &lb, &extent, "MPI_Type_ub");

	*ub = lb + extent;
	return err;
}

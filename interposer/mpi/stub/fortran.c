/* Handles as Fortran has them: small numbers.  A predefined one has Open MPI's, a dynamic one its id. */
#include "stub.h"

#define IDS 128

/* One more than the number; 0: none. */
#define NUMBER(class, id, number) [RDB_##class][id] = (number) + 1,
static const short numbers[RDB_CLASSES][IDS] = {
#include "fortran_numbers.def"
};

static MPI_Fint to_fortran(unsigned class, const void *handle)
{
	uint32_t id = rdb_id(class, handle);

	if (id >= RDB_FIRST_DYNAMIC)
		return (MPI_Fint)id;
	return id < IDS ? numbers[class][id] - 1 : -1;
}

static void *from_fortran(unsigned class, MPI_Fint number)
{
	if (number >= RDB_FIRST_DYNAMIC)
		return rdb_handle(class, (uint32_t)number);
	for (uint32_t id = RDB_NULL_ID; id < IDS; id++) {
		if (numbers[class][id] && numbers[class][id] - 1 == number)
			return HANDLE(class, id);
	}
	return NULL; /* as Open MPI: a call that is given it fails */
}

#define BOTH_WAYS(name, type, class) \
	RDB_MPI(MPI_Fint, name##_c2f, type handle) \
	{ \
		return to_fortran(class, handle); \
	} \
	RDB_MPI(type, name##_f2c, MPI_Fint number) \
	{ \
		return from_fortran(class, number); \
	}

BOTH_WAYS(Comm, MPI_Comm, RDB_COMM)
BOTH_WAYS(Type, MPI_Datatype, RDB_TYPE)
BOTH_WAYS(Group, MPI_Group, RDB_GROUP)
BOTH_WAYS(Op, MPI_Op, RDB_OP)
BOTH_WAYS(Request, MPI_Request, RDB_REQUEST)
BOTH_WAYS(Message, MPI_Message, RDB_MESSAGE)
BOTH_WAYS(Info, MPI_Info, RDB_INFO)
BOTH_WAYS(Errhandler, MPI_Errhandler, RDB_ERRHANDLER)
BOTH_WAYS(Win, MPI_Win, RDB_WIN)
BOTH_WAYS(File, MPI_File, RDB_FILE)

/* The same integers in the same order. */
RDB_MPI(int, Status_c2f, const MPI_Status *c_status, MPI_Fint *f_status)
{
	if (!c_status || !f_status)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Status_c2f");
	__builtin_memcpy(f_status, c_status, sizeof(*c_status));
	return MPI_SUCCESS;
}

RDB_MPI(int, Status_f2c, const MPI_Fint *f_status, MPI_Status *c_status)
{
	if (!c_status || !f_status)
		return rdb_error(MPI_COMM_WORLD, MPI_ERR_ARG, "MPI_Status_f2c");
	__builtin_memcpy(c_status, f_status, sizeof(*c_status));
	return MPI_SUCCESS;
}

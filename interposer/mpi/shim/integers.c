/* Handles as integers (MPI-5) and as Fortran's numbers.  A predefined handle is converted to its value, others to class
 * and id.  So handles that are numbers do not change. */
#include "shim.h"

enum { ID_BITS = 26, ID_MASK = (1 << ID_BITS) - 1, OWN = 0x20 };

static int to_int(unsigned class, int64_t native)
{
	uint32_t id = native_dynamic_id(class, native);

	return id ? (int)((uint32_t)(OWN | class) << ID_BITS | id) : (int)native;
}

static int64_t from_int(unsigned class, int value)
{
	if ((uint32_t)value >> ID_BITS != (OWN | class))
		return value;
	return native_dynamic(class, (uint32_t)value & ID_MASK);
}

#define INTEGERS(name, class, type) \
	EXPORT int PMPI_##name##_toint(type handle); \
	EXPORT int PMPI_##name##_toint(type handle) \
	{ \
		return to_int(class, (int64_t)(intptr_t)handle); \
	} \
	SHIM_ALIAS(MPI_##name##_toint) \
	EXPORT type PMPI_##name##_fromint(int value); \
	EXPORT type PMPI_##name##_fromint(int value) \
	{ \
		return (type)(intptr_t)from_int(class, value); \
	} \
	SHIM_ALIAS(MPI_##name##_fromint) \
	EXPORT MPI_Fint PMPI_##name##_c2f(type handle); \
	EXPORT MPI_Fint PMPI_##name##_c2f(type handle) \
	{ \
		return to_int(class, (int64_t)(intptr_t)handle); \
	} \
	SHIM_ALIAS(MPI_##name##_c2f) \
	EXPORT type PMPI_##name##_f2c(MPI_Fint value); \
	EXPORT type PMPI_##name##_f2c(MPI_Fint value) \
	{ \
		return (type)(intptr_t)from_int(class, value); \
	} \
	SHIM_ALIAS(MPI_##name##_f2c)
INTEGERS(Comm, RDB_COMM, MPI_Comm)
INTEGERS(Type, RDB_TYPE, MPI_Datatype)
INTEGERS(Group, RDB_GROUP, MPI_Group)
INTEGERS(Op, RDB_OP, MPI_Op)
INTEGERS(Request, RDB_REQUEST, MPI_Request)
INTEGERS(Message, RDB_MESSAGE, MPI_Message)
INTEGERS(Info, RDB_INFO, MPI_Info)
INTEGERS(Errhandler, RDB_ERRHANDLER, MPI_Errhandler)
INTEGERS(Win, RDB_WIN, MPI_Win)
INTEGERS(File, RDB_FILE, MPI_File)
INTEGERS(Session, RDB_SESSION, MPI_Session)

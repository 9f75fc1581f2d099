/* Functions of another ABI's library that the generator does not make: functions that MPI-3 removed, address
 * arithmetic, and conversions of Fortran statuses, whose words are the same as in C. */
#include "shim.h"

typedef MPI_Status MPI_F08_status;

#define BESIDE(result, name, ...) \
	EXPORT result PMPI_##name(__VA_ARGS__); \
	SHIM_ALIAS(MPI_##name) \
	EXPORT result PMPI_##name(__VA_ARGS__)

BESIDE(MPI_Aint, Aint_add, MPI_Aint base, MPI_Aint disp)
{
	return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

BESIDE(MPI_Aint, Aint_diff, MPI_Aint addr1, MPI_Aint addr2)
{
	return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

/* ---- names of MPI-1 ---- */

EXPORT int PMPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made);
EXPORT int PMPI_Type_create_hindexed(int count, const int *lengths, const MPI_Aint *offsets, MPI_Datatype old,
				     MPI_Datatype *made);
EXPORT int PMPI_Type_create_struct(int count, const int *lengths, const MPI_Aint *offsets, const MPI_Datatype *types,
				   MPI_Datatype *made);
EXPORT int PMPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent);
EXPORT int PMPI_Comm_create_errhandler(void *function, MPI_Errhandler *errhandler);
EXPORT int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler);
EXPORT int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler);

BESIDE(int, Address, const void *location, MPI_Aint *address)
{
	*address = (MPI_Aint)location;
	return MPI_SUCCESS;
}

BESIDE(int, Type_hvector, int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made)
{
	return PMPI_Type_create_hvector(count, length, stride, old, made);
}

BESIDE(int, Type_hindexed, int count, int *lengths, MPI_Aint *offsets, MPI_Datatype old, MPI_Datatype *made)
{
	return PMPI_Type_create_hindexed(count, lengths, offsets, old, made);
}

BESIDE(int, Type_struct, int count, int *lengths, MPI_Aint *offsets, MPI_Datatype *types, MPI_Datatype *made)
{
	return PMPI_Type_create_struct(count, lengths, offsets, types, made);
}

BESIDE(int, Type_extent, MPI_Datatype type, MPI_Aint *extent)
{
	MPI_Aint lb;

	return PMPI_Type_get_extent(type, &lb, extent);
}

BESIDE(int, Type_lb, MPI_Datatype type, MPI_Aint *lb)
{
	MPI_Aint extent;

	return PMPI_Type_get_extent(type, lb, &extent);
}

BESIDE(int, Type_ub, MPI_Datatype type, MPI_Aint *ub)
{
	MPI_Aint lb = 0, extent = 0;
	int err = PMPI_Type_get_extent(type, ub ? &lb : NULL, &extent);

	if (ub)
		*ub = lb + extent;
	return err;
}

BESIDE(int, Errhandler_create, void *function, MPI_Errhandler *errhandler)
{
	return PMPI_Comm_create_errhandler(function, errhandler);
}

BESIDE(int, Errhandler_get, MPI_Comm comm, MPI_Errhandler *errhandler)
{
	return PMPI_Comm_get_errhandler(comm, errhandler);
}

BESIDE(int, Errhandler_set, MPI_Comm comm, MPI_Errhandler errhandler)
{
	return PMPI_Comm_set_errhandler(comm, errhandler);
}

/* ---- statuses ---- */

#define STATUS_COPIED(name, from_type, to_type) \
	BESIDE(int, name, const from_type *from, to_type *to) \
	{ \
		if (!from || !to || shim_ignored((const MPI_Status *)from)) \
			return MPI_ERR_ARG; \
		for (size_t i = 0; i < sizeof(MPI_Status) / sizeof(int); i++) \
			((int *)to)[i] = ((const int *)from)[i]; \
		return MPI_SUCCESS; \
	}
STATUS_COPIED(Status_c2f, MPI_Status, MPI_Fint)
STATUS_COPIED(Status_f2c, MPI_Fint, MPI_Status)
STATUS_COPIED(Status_c2f08, MPI_Status, MPI_F08_status)
STATUS_COPIED(Status_f082c, MPI_F08_status, MPI_Status)
STATUS_COPIED(Status_f2f08, MPI_Fint, MPI_F08_status)
STATUS_COPIED(Status_f082f, MPI_F08_status, MPI_Fint)

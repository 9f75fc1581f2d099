/* MPI_Register_datarep.  Open MPI and MPICH only remember the name: they refuse conversion functions
 * (MPI_ERR_CONVERSION) and views with such a name (MPI_ERR_UNSUPPORTED_DATAREP), so they never call the functions. */
#include "lower/objects/real.h"

static int convert(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
	(void)user, (void)type, (void)count, (void)file, (void)position, (void)extra;
	host->fatal("the MPI library calls a conversion function of MPI_Register_datarep: that is not supported");
	return MPI_ERR_CONVERSION;
}

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *extra)
{
	(void)type, (void)bytes, (void)extra;
	host->fatal("the MPI library calls the extent function of MPI_Register_datarep: that is not supported");
	return MPI_ERR_CONVERSION;
}

/* datarep, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state */
int64_t real_Register_datarep(const uint64_t *a)
{
	return PMPI_Register_datarep((char *)a[0], a[1] ? convert : NULL, a[2] ? convert : NULL, a[3] ? extent : NULL,
				     NULL);
}

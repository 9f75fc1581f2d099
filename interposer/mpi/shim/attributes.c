/* Predefined attributes, whose values may be constants that differ between ABIs; and MPI_Pcontrol. */
#include "shim.h"

int64_t shim_attribute_value(int keyval, int64_t value)
{
	switch (keyval) {
	case MPI_HOST:
	case MPI_IO: return shim_rank_out((int)value);
	case MPI_WIN_CREATE_FLAVOR: return shim_flavor_out((int)value);
	case MPI_WIN_MODEL: return shim_model_out((int)value);
	}
	return value;
}

/* The program gets a pointer to the value. */
static const int *translated(int keyval, const int *value)
{
	static int host, io, flavor, model;
	int *const own = keyval == MPI_HOST                ? &host
			 : keyval == MPI_IO                ? &io
			 : keyval == MPI_WIN_CREATE_FLAVOR ? &flavor
			 : keyval == MPI_WIN_MODEL         ? &model
							   : NULL;

	if (!own)
		return value;
	*own = (int)shim_attribute_value(keyval, *value);
	return own;
}

int shim_attribute(int rc, int keyval, const int **value, const int *flag)
{
	if (rc == 0 && *flag)
		*value = translated(keyval, *value);
	return shim_error_out(rc);
}

EXPORT int PMPI_Pcontrol(const int level, ...);
EXPORT int PMPI_Pcontrol(const int level __attribute__((unused)), ...)
{
	return MPI_SUCCESS;
}
SHIM_ALIAS(MPI_Pcontrol)

/* Predefined attributes, whose values may be constants that differ between ABIs; and MPI_Pcontrol. */
#include "shim.h"

/* The program gets a pointer to the value. */
static const int *translated(int keyval, const int *value)
{
	static int host, io, flavor, model;

	switch (keyval) {
	case MPI_HOST: host = shim_rank_out(*value); return &host;
	case MPI_IO: io = shim_rank_out(*value); return &io;
	case MPI_WIN_CREATE_FLAVOR: flavor = shim_flavor_out(*value); return &flavor;
	case MPI_WIN_MODEL: model = shim_model_out(*value); return &model;
	}
	return value;
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

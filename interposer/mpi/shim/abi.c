/* Queries of MPI-5 about the ABI and Fortran.  The MPIs below are built with Fortran, so all values are known, and the
 * standard forbids setting known values. */
#include "shim.h"

EXPORT int PMPI_Info_create(MPI_Info *info);
EXPORT int PMPI_Info_set(MPI_Info info, const char *key, const char *value);

struct entry {
	const char *key, *value;
};

static int told(MPI_Info *info, const struct entry *entries, unsigned count)
{
	int err = PMPI_Info_create(info);

	for (unsigned i = 0; !err && i < count; i++)
		err = PMPI_Info_set(*info, entries[i].key, entries[i].value);
	return err;
}

EXPORT int PMPI_Abi_get_version(int *major, int *minor);
EXPORT int PMPI_Abi_get_version(int *major, int *minor)
{
	*major = NATIVE_ABI;
	*minor = NATIVE_SUBABI;
	return MPI_SUCCESS;
}
SHIM_ALIAS(MPI_Abi_get_version)

EXPORT int PMPI_Abi_get_info(MPI_Info *info);
EXPORT int PMPI_Abi_get_info(MPI_Info *info)
{
	static const struct entry sizes[] = {{"mpi_aint_size", "8"}, {"mpi_count_size", "8"}, {"mpi_offset_size", "8"}};

	return told(info, sizes, COUNT(sizes));
}
SHIM_ALIAS(MPI_Abi_get_info)

/* Types with a size in their name are reported as supported if each MPI below has them. */
EXPORT int PMPI_Abi_get_fortran_info(MPI_Info *info);
EXPORT int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
	static const struct entry types[] = {
		{"mpi_logical_size", "4"},
		{"mpi_integer_size", "4"},
		{"mpi_real_size", "4"},
		{"mpi_double_precision_size", "8"},
		{"mpi_integer1_supported", "true"},
		{"mpi_integer2_supported", "true"},
		{"mpi_integer4_supported", "true"},
		{"mpi_integer8_supported", "true"},
		{"mpi_integer16_supported", "false"},
		{"mpi_real2_supported", "false"},
		{"mpi_real4_supported", "true"},
		{"mpi_real8_supported", "true"},
		{"mpi_real16_supported", "false"},
		{"mpi_complex4_supported", "false"},
		{"mpi_complex8_supported", "true"},
		{"mpi_complex16_supported", "true"},
		{"mpi_complex32_supported", "false"},
		{"mpi_logical1_supported", "false"},
		{"mpi_logical2_supported", "false"},
		{"mpi_logical4_supported", "false"},
		{"mpi_logical8_supported", "false"},
		{"mpi_logical16_supported", "false"},
		{"mpi_double_complex_supported", "true"},
	};

	return told(info, types, COUNT(types));
}
SHIM_ALIAS(MPI_Abi_get_fortran_info)

EXPORT int PMPI_Abi_set_fortran_info(MPI_Info info);
EXPORT int PMPI_Abi_set_fortran_info(MPI_Info info __attribute__((unused)))
{
	return NATIVE_ERR_ABI;
}
SHIM_ALIAS(MPI_Abi_set_fortran_info)

/* gfortran's values, in any size; little-endian. */
EXPORT int PMPI_Abi_get_fortran_booleans(int size, void *true_value, void *false_value, int *is_set);
EXPORT int PMPI_Abi_get_fortran_booleans(int size, void *true_value, void *false_value, int *is_set)
{
	*is_set = size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
	for (int i = 0; *is_set && i < size; i++) {
		((char *)true_value)[i] = i == 0;
		((char *)false_value)[i] = 0;
	}
	return MPI_SUCCESS;
}
SHIM_ALIAS(MPI_Abi_get_fortran_booleans)

EXPORT int PMPI_Abi_set_fortran_booleans(int size, void *true_value, void *false_value);
EXPORT int PMPI_Abi_set_fortran_booleans(int size __attribute__((unused)), void *true_value __attribute__((unused)),
					 void *false_value __attribute__((unused)))
{
	return NATIVE_ERR_ABI;
}
SHIM_ALIAS(MPI_Abi_set_fortran_booleans)

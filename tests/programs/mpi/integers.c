/* Handles as integers (MPI-5). */
#include "check.h"

static int says(MPI_Info info, const char *key, const char *expected)
{
	char value[16] = "";
	int flag;

	OK(MPI_Info_get(info, key, sizeof(value) - 1, value, &flag));
	return flag && !strcmp(value, expected);
}

int main(int argc, char **argv)
{
	int major, minor, yes, no, set;
	MPI_Comm dup;
	MPI_Info info;

	begin(&argc, &argv);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	OK(MPI_Info_create(&info));
	CHECK(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup && MPI_Comm_toint(dup) != MPI_Comm_toint(MPI_COMM_WORLD));
	CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
	CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
	CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
	CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
	OK(MPI_Abi_get_version(&major, &minor));
#ifdef MPI_ABI_VERSION
	CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
#else
	CHECK(major == -1 && minor == -1); /* as MPICH's own library says */
#endif
	OK(MPI_Info_free(&info));
	OK(MPI_Abi_get_info(&info));
	CHECK(says(info, "mpi_offset_size", "8"));
	OK(MPI_Info_free(&info));
	OK(MPI_Abi_get_fortran_info(&info));
	CHECK(says(info, "mpi_integer_size", "4") && says(info, "mpi_real8_supported", "true"));
	CHECK(MPI_Abi_set_fortran_info(info) == MPI_ERR_ABI);
	OK(MPI_Abi_get_fortran_booleans(sizeof(yes), &yes, &no, &set));
	CHECK(set && yes == 1 && no == 0);
	CHECK(MPI_Abi_set_fortran_booleans(sizeof(yes), &yes, &no) == MPI_ERR_ABI);
	OK(MPI_Comm_free(&dup));
	OK(MPI_Info_free(&info));
	return end();
}

/* Handles as integers (MPI-5). */
#include "check.h"

int main(int argc, char **argv)
{
	int major, minor;
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
	CHECK(major == 1);
	OK(MPI_Comm_free(&dup));
	OK(MPI_Info_free(&info));
	return end();
}

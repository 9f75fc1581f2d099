/* An error with MPI_ERRORS_ARE_FATAL. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
	int keyval = MPI_KEYVAL_INVALID;
	MPI_Info info;

	MPI_Init(&argc, &argv);
	if (argc > 1 && !strcmp(argv[1], "keyval"))
		MPI_Comm_free_keyval(&keyval);
	MPI_Info_create(&info);
	MPI_Info_delete(info, "none");
	return MPI_Finalize();
}

/* A file of MPI that is opened when the log has come to a further segment. */
#include <mpi.h>
#include <stdio.h>

enum { MANY = 1 << 20 };

static int numbers[MANY];

int main(int argc, char **argv)
{
	int rank, mine, both[2];
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 2; i++) {
		numbers[i] = rank;
		MPI_Allreduce(MPI_IN_PLACE, numbers, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
	mine = 10 + rank;
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(int), &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	if (MPI_File_read_at_all(file, 0, both, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS)
		printf("%d: %d %d\n", rank, both[0], both[1]);
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}

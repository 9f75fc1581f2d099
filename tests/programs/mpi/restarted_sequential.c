/* For restarts: a file that MPI has open to be written in sequence only.  `restarted_sequential FOLDER`. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char path[4096], line[16];
	int rank, failed = 0;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof(path), "%s/lines", argv[1]);
	failed |= MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL,
				MPI_INFO_NULL, &file);
	for (int round = 0; round < 4; round++) {
		snprintf(line, sizeof(line), "%d of %d\n", round, rank);
		failed |= MPI_File_write_ordered(file, line, 7, MPI_CHAR, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_File_close(&file);
	printf("rank %d: %d\n", rank, failed);
	MPI_Finalize();
	return failed;
}

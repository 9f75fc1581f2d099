/* Rank 0 writes a file by system calls, all ranks read it through MPI, three times. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put(const char *path, int number)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, &number, sizeof(number)) != sizeof(number) || close(fd))
		abort();
}

int main(int argc, char **argv)
{
	int rank, number = -1;
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int turn = 1; turn <= 3; turn++) {
		if (rank == 0)
			put(argv[1], turn * 11);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
		MPI_File_read_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
		MPI_File_close(&file);
		printf("%d: turn %d: %d\n", rank, turn, number);
		fflush(stdout);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}

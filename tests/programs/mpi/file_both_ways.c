/* A file that MPI writes, and that system calls read, extend, and remove: each sees what the other has done. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, numbers[3] = {0};
	MPI_File file;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
	int mine = 10 + rank;
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(int), &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	mine += 10;
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(int), &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	if (rank == 0) {
		const int fd = open(argv[1], O_RDWR);
		if (fd < 0 || read(fd, numbers, sizeof(numbers)) != 2 * sizeof(int) || numbers[0] != 20 ||
		    numbers[1] != 21 || pwrite(fd, &(int){30}, sizeof(int), 2 * sizeof(int)) != sizeof(int) ||
		    close(fd))
			abort();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_read_at_all(file, 0, numbers, 3, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	printf("%d: %d %d %d\n", rank, numbers[0], numbers[1], numbers[2]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0 && unlink(argv[1]))
		abort();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file);
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}

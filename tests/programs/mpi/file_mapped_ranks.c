/* All ranks write at once to a file that each of them has mapped.  argv: the file; how many bytes at a time. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PARTS = 8, TURNS = 12 };

int main(int argc, char **argv)
{
	const size_t part = (size_t)atoi(argv[2]), len = PARTS * part;
	char *bytes = malloc(part);
	int rank;
	MPI_File file;
	MPI_Request request;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		truncate(argv[1], len);
	MPI_Barrier(MPI_COMM_WORLD);
	const int fd = open(argv[1], O_RDWR);
	const char *shared = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const char *mine = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (int turn = 0; turn < TURNS; turn++) {
		unsigned sum = 0;
		memset(bytes, turn * 2 + rank + 1, part);
		MPI_File_iwrite_at(file, (turn * 2 + rank) % PARTS * part, bytes, part, MPI_BYTE, &request);
		getppid(); /* an event while all write */
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		for (size_t i = 0; i < len; i++)
			sum = sum * 31 + (unsigned char)shared[i] * 7 + (unsigned char)mine[i];
		printf("%d: %d %x\n", rank, turn, sum);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}

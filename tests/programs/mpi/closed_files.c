/* Ranks that open, change and close files of MPI again and again; rank 0 waits in the middle for a file that a test makes.
 * argv: directory, gate.  Each prints a sum of all that it has read. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 8, INTS = 16 };

static long changed(const char *path, int rank, int round)
{
	MPI_File file;
	int values[INTS] = {0};
	MPI_Offset at = (MPI_Offset)rank * sizeof(values);
	long sum = 0;

	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_read_at_all(file, at, values, INTS, MPI_INT, MPI_STATUS_IGNORE);
	for (int i = 0; i < INTS; i++) {
		sum = sum * 31 + values[i];
		values[i] += rank + round * i;
	}
	MPI_File_write_at_all(file, at, values, INTS, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	return sum;
}

int main(int argc, char **argv)
{
	char path[4096];
	long sum = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < ROUNDS; round++) {
		snprintf(path, sizeof(path), "%s/%d", argv[1], round % 3);
		sum = sum * 7 + changed(path, rank, round);
		MPI_Barrier(MPI_COMM_WORLD);
		if (round == 5 && rank == 0)
			MPI_File_delete(path, MPI_INFO_NULL); /* made before the gate */
		if (round == 3 && rank == 0) {
			printf("half\n");
			fflush(stdout);
			while (access(argv[2], F_OK))
				usleep(1000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	snprintf(path, sizeof(path), "%s/new", argv[1]); /* there is none before a restart */
	sum = sum * 7 + changed(path, rank, 1);
	printf("rank %d sum %ld\n", rank, sum);
	MPI_Finalize();
	return 0;
}

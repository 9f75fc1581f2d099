/* For restarts: a computation that writes its state to a file of MPI every so often, and reads it back. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, CELLS = 16 };

static int rank, size;
static uint64_t cells[CELLS];

static void need(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "%s failed\n", what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void step(int round)
{
	uint64_t from[CELLS];
	MPI_Sendrecv(cells, CELLS, MPI_UINT64_T, (rank + 1) % size, 5, from, CELLS, MPI_UINT64_T,
		     (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < CELLS; i++)
		cells[i] = (cells[i] ^ from[CELLS - 1 - i]) * 0x9e3779b97f4a7c15u + (uint64_t)round;
}

static uint64_t load(MPI_File file)
{
	uint64_t all[CELLS * 8], sum = 0;
	MPI_Status status;
	int count;
	MPI_File_set_view(file, 0, MPI_UINT64_T, MPI_UINT64_T, "native", MPI_INFO_NULL);
	need(!MPI_File_read_at_all(file, 0, all, CELLS * size, MPI_UINT64_T, &status), "read_at_all");
	MPI_Get_count(&status, MPI_UINT64_T, &count);
	need(count == CELLS * size, "read_at_all");
	for (int i = 0; i < count; i++)
		sum = sum * 31 + all[i];
	return sum;
}

/* Cells of all ranks take turns in the file. */
static uint64_t save(const char *path)
{
	MPI_Datatype every;
	MPI_File file;
	MPI_Request request;
	MPI_Type_vector(CELLS, 1, size, MPI_UINT64_T, &every);
	MPI_Type_commit(&every);
	need(!MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
	MPI_File_set_view(file, rank * (MPI_Offset)sizeof(uint64_t), MPI_UINT64_T, every, "native", MPI_INFO_NULL);
	need(!MPI_File_write_all(file, cells, CELLS / 2, MPI_UINT64_T, MPI_STATUS_IGNORE), "write_all");
	need(!MPI_File_iwrite(file, cells + CELLS / 2, CELLS / 2, MPI_UINT64_T, &request), "iwrite");
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(file);
	uint64_t sum = load(file);
	MPI_File_close(&file);
	MPI_Type_free(&every);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < CELLS; i++)
		cells[i] = (uint64_t)(rank * 1000 + i);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 5; i++)
			step(round);
		if (round % 3 == 1)
			sum = sum * 7 + save(argv[1]);
	}
	if (!rank)
		printf("sum %016lx\n", (unsigned long)sum);
	MPI_Finalize();
	return 0;
}

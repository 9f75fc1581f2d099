/* Ranks with files of MPI open when rank 0 waits, computing, for a file that a test makes: views, individual and shared
 * file pointers, reads that were begun, a file that was there.  argv: FOLDER, gate.  Each rank prints a sum of all that it
 * has read. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CELLS = 8, ROUNDS = 6 };

static int rank, size;
static unsigned long sum;

static MPI_File open_file(const char *folder, const char *name, int amode)
{
	char path[4096];
	MPI_File file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file)) {
		fprintf(stderr, "%s cannot be opened\n", path);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return file;
}

static void settle(MPI_File file)
{
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(file);
}

/* At the individual pointer, in the view; the next round goes on where this one has stopped. */
static void cells(MPI_File file, uint32_t *in, MPI_Request *begun)
{
	uint32_t out[CELLS];
	MPI_Offset at;

	MPI_File_get_position(file, &at);
	sum = sum * 31 + (unsigned long)at;
	for (int i = 0; i < CELLS; i++)
		out[i] = (uint32_t)(sum >> i) + (uint32_t)rank;
	MPI_File_write_all(file, out, CELLS, MPI_UINT32_T, MPI_STATUS_IGNORE);
	settle(file);
	MPI_File_iread_at(file, at, in, CELLS, MPI_UINT32_T, begun);
}

/* The others wait for rank 0. */
static void wait_for(const char *gate)
{
	if (rank) {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	printf("half\n");
	fflush(stdout);
	while (access(gate, F_OK))
		for (volatile int k = 0; k < 1000000; k++)
			;
	for (int one = 1; one < size; one++)
		MPI_Send(NULL, 0, MPI_BYTE, one, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Datatype block, every;
	uint32_t in[CELLS];
	char old[64], line[32];
	MPI_Offset at;
	MPI_Request begun;
	MPI_Status status;
	int got, atomic = 0, amode; /* Open MPI 4.1 does not set the first */

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Type_contiguous(CELLS, MPI_UINT32_T, &block);
	MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(in) * size, &every);
	MPI_Type_commit(&every);
	MPI_File there = open_file(argv[1], "there", MPI_MODE_RDWR);
	MPI_File lines = open_file(argv[1], "lines", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	MPI_File_set_view(there, 32 + (MPI_Offset)sizeof(in) * rank, MPI_UINT32_T, every, "native", MPI_INFO_NULL);
	MPI_Type_free(&every);
	MPI_Type_free(&block);
	MPI_File_set_atomicity(lines, 1);
	for (int round = 0; round < ROUNDS; round++) {
		cells(there, in, &begun);
		snprintf(line, sizeof(line), "%d %016lx\n", rank, sum);
		MPI_File_write_ordered(lines, line, 19, MPI_CHAR, MPI_STATUS_IGNORE);
		if (round == ROUNDS / 2)
			wait_for(argv[2]);
		MPI_Wait(&begun, &status);
		MPI_Get_count(&status, MPI_UINT32_T, &got);
		sum += (unsigned long)got;
		for (int i = 0; i < CELLS; i++)
			sum = sum * 31 + in[i];
	}
	MPI_File_get_atomicity(lines, &atomic);
	MPI_File_get_position_shared(lines, &at);
	MPI_File_get_amode(lines, &amode);
	sum = sum * 3 + (unsigned long)(at + atomic + amode);
	settle(there);
	MPI_File_set_view(there, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_File_read_at(there, 4, old, sizeof(old), MPI_BYTE, MPI_STATUS_IGNORE);
	for (unsigned i = 0; i < sizeof(old); i++)
		sum = sum * 31 + (unsigned char)old[i];
	MPI_File_close(&there);
	MPI_File_close(&lines);
	printf("rank %d %016lx\n", rank, sum);
	MPI_Finalize();
	return 0;
}

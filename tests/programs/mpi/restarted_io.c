/* For restarts: files of MPI with views, individual and shared file pointers, split and nonblocking calls, one that was
 * there before, and ranks that write over each other's bytes in turn.  `restarted_io FOLDER`. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 12 };

static int rank, size;
static uint64_t sum;
static const char *folder;

static void need(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s failed\n", what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void learn(const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + ((const unsigned char *)bytes)[i];
}

static MPI_File open_file(const char *name, int amode)
{
	char path[4096];
	MPI_File file;
	MPI_Info info;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_write", "disable");
	need(MPI_File_open(MPI_COMM_WORLD, path, amode, info, &file), name);
	MPI_Info_free(&info);
	return file;
}

static void in_turn(int turn)
{
	for (int one = 0; one < turn; one++)
		MPI_Barrier(MPI_COMM_WORLD);
}

static void settle(MPI_File file)
{
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_sync(file);
}

/* Every rank's cells, one after the other's, at the individual pointer; each time others in the same place. */
static void views(MPI_File file, int round)
{
	MPI_Datatype every;
	uint32_t cells[CELLS], back[CELLS];
	MPI_Offset at;

	MPI_Type_vector(CELLS, 1, size, MPI_UINT32_T, &every);
	MPI_Type_commit(&every);
	MPI_File_set_view(file, 64 + (MPI_Offset)sizeof(uint32_t) * rank, MPI_UINT32_T, every, "native", MPI_INFO_NULL);
	for (int i = 0; i < CELLS; i++)
		cells[i] = (uint32_t)((sum ^ (sum >> 32)) + (uint64_t)(rank * 100 + i));
	need(MPI_File_write(file, cells, 5, MPI_UINT32_T, MPI_STATUS_IGNORE), "write");
	need(MPI_File_write_all(file, cells + 5, CELLS - 5, MPI_UINT32_T, MPI_STATUS_IGNORE), "write_all");
	settle(file);
	MPI_File_seek(file, round % 4, MPI_SEEK_SET);
	need(MPI_File_read(file, back, 4, MPI_UINT32_T, MPI_STATUS_IGNORE), "read");
	learn(back, 4 * sizeof(*back));
	MPI_File_get_position(file, &at);
	learn(&at, sizeof(at));
	MPI_Type_free(&every);
}

/* All write to the same place, one after the other. */
static void over_each_other(MPI_File file)
{
	char text[16];

	MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	in_turn(rank);
	snprintf(text, sizeof(text), "%015lx", (unsigned long)(sum >> 4));
	need(MPI_File_write_at(file, 7 * rank, text, 15, MPI_CHAR, MPI_STATUS_IGNORE), "write_at");
	in_turn(size - rank);
	settle(file);
	char back[64] = "";
	need(MPI_File_read_at(file, 0, back, 15 + 7 * (size - 1), MPI_CHAR, MPI_STATUS_IGNORE), "read_at");
	learn(back, sizeof(back));
}

static void halves(MPI_File file)
{
	uint64_t out = sum, in[2] = {0, 0};
	MPI_Request request;
	MPI_Status status;
	MPI_Offset at = 4096 + 16 * (MPI_Offset)rank;
	int got;

	need(MPI_File_write_at_all_begin(file, at, &out, 8, MPI_BYTE), "begin");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_write_at_all_end(file, &out, MPI_STATUS_IGNORE);
	need(MPI_File_iwrite_at(file, at + 8, &sum, 8, MPI_BYTE, &request), "iwrite_at");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_BYTE, &got);
	sum += (uint64_t)got;
	settle(file);
	at = 4096 + 16 * (MPI_Offset)((rank + 1) % size);
	need(MPI_File_read_at_all_begin(file, at, in, 8, MPI_BYTE), "begin");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at_all_end(file, in, &status);
	need(MPI_File_iread_at(file, at + 8, in + 1, 8, MPI_BYTE, &request), "iread_at");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_BYTE, &got);
	sum += (uint64_t)got;
	learn(in, sizeof(in));
}

static void shared(MPI_File file)
{
	char line[24];
	MPI_Offset at;
	int on;

	in_turn(rank);
	snprintf(line, sizeof(line), "%d %020lx\n", rank, (unsigned long)sum);
	need(MPI_File_write_shared(file, line, 23, MPI_CHAR, MPI_STATUS_IGNORE), "write_shared");
	in_turn(size - rank);
	need(MPI_File_write_ordered(file, line, 5 + rank, MPI_CHAR, MPI_STATUS_IGNORE), "write_ordered");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_get_position_shared(file, &at);
	MPI_File_get_atomicity(file, &on);
	sum += (uint64_t)at * 3 + (uint64_t)on;
}

int main(int argc, char **argv)
{
	char gone[4096];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	folder = argv[1];
	sum = (uint64_t)rank * 7919 + 1;

	MPI_File there = open_file("there", MPI_MODE_RDWR);
	MPI_File_set_atomicity(there, 1);
	MPI_File lines = open_file("lines", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	for (int round = 0; round < 2; round++) {
		views(there, round);
		over_each_other(there);
		halves(there);
		shared(lines);
	}
	MPI_File_close(&lines);
	MPI_File_close(&there);

	/* what was written is found again, and goes on */
	lines = open_file("lines", MPI_MODE_RDWR | MPI_MODE_APPEND);
	MPI_Offset end;
	MPI_File_get_size(lines, &end);
	MPI_Barrier(MPI_COMM_WORLD);
	sum += (uint64_t)end;
	shared(lines);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_set_size(lines, end + 20);
	MPI_File_close(&lines);
	there = open_file("there", MPI_MODE_RDONLY);
	char all[256];
	need(MPI_File_read_at_all(there, 0, all, 200, MPI_CHAR, MPI_STATUS_IGNORE), "read_at_all");
	learn(all, 200);
	MPI_File_close(&there);
	MPI_File extra = open_file("extra", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
	need(MPI_File_write_ordered(extra, &sum, 8, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
	MPI_File_close(&extra);
	snprintf(gone, sizeof(gone), "%s/gone", folder);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		need(MPI_File_delete(gone, MPI_INFO_NULL), "delete");
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d sum %016lx\n", rank, (unsigned long)sum);
	MPI_Finalize();
	return 0;
}

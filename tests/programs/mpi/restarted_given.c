/* For restarts: what the program was given of files and windows, and has while these go: views, infos, groups.
 * `restarted_given FOLDER`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static unsigned long sum;

static void need(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s failed\n", what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static MPI_File opened(const char *folder, const char *name, int amode, MPI_Info info)
{
	char path[4096];
	MPI_File file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	need(MPI_File_open(MPI_COMM_WORLD, path, amode, info, &file), name);
	return file;
}

/* What was got of a file that is closed is used with another one. */
static void use(const char *folder, const char *name, MPI_Datatype every, MPI_Info info, MPI_Group group, char *rep)
{
	int got[4] = {0}, members, cells[4], word;
	MPI_Comm comm;
	char path[4096];
	MPI_File file;

	MPI_Group_size(group, &members);
	need(MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm), "create_group");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	need(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file), name);
	need(MPI_File_set_view(file, 4 * rank, MPI_INT, every, rep, info), "set_view");
	for (int i = 0; i < 4; i++)
		cells[i] = (int)(sum % 65536) + 10 * rank + i;
	need(MPI_File_write_all(file, cells, 4, MPI_INT, MPI_STATUS_IGNORE), "write_all");
	MPI_File_sync(file);
	MPI_Barrier(comm);
	need(MPI_File_read_at_all(file, 1, got, 3, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
	need(MPI_File_get_size(file, (MPI_Offset[]){0}), "get_size");
	MPI_Type_size(every, &word);
	for (int i = 0; i < 3; i++)
		sum = sum * 31 + (unsigned long)got[i];
	sum += (unsigned long)(word + members);
	MPI_File_close(&file);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	MPI_Datatype every, etype, filetype;
	MPI_Info info, window_info, none;
	MPI_Group group, window_group;
	MPI_Offset at;
	MPI_File file;
	MPI_Win win;
	char rep[MPI_MAX_DATAREP_STRING];
	int cell, members;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	sum = (unsigned long)rank + 1;
	MPI_Info_create(&none);
	MPI_Info_set(none, "romio_ds_write", "disable");
	for (int round = 0; round < 3; round++) {
		char name[16];

		MPI_Type_vector(4, 1, size, MPI_INT, &every);
		MPI_Type_commit(&every);
		/* one that is only read, and there before */
		file = opened(argv[1], "there", MPI_MODE_RDONLY, none);
		need(MPI_File_set_view(file, 8, MPI_INT, every, "native", MPI_INFO_NULL), "set_view");
		MPI_Type_free(&every);
		need(MPI_File_get_view(file, &at, &etype, &filetype, rep), "get_view");
		need(MPI_File_get_info(file, &info), "get_info");
		need(MPI_File_get_group(file, &group), "get_group");
		sum += (unsigned long)at + (etype == MPI_INT);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_File_close(&file);
		MPI_Barrier(MPI_COMM_WORLD);
		need(MPI_Win_create(&cell, sizeof(cell), 4, none, MPI_COMM_WORLD, &win), "Win_create");
		MPI_Win_set_name(win, "cells");
		MPI_Win_get_info(win, &window_info);
		MPI_Win_get_group(win, &window_group);
		MPI_Win_free(&win);
		MPI_Barrier(MPI_COMM_WORLD);
		snprintf(name, sizeof(name), "made%d", round);
		use(argv[1], name, filetype, info, group, rep);
		MPI_Type_free(&filetype);
		MPI_Info_free(&info);
		MPI_Group_free(&group);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Group_size(window_group, &members);
		MPI_Info_get_nkeys(window_info, &cell);
		sum += (unsigned long)members;
		MPI_Group_free(&window_group);
		MPI_Info_free(&window_info);
	}
	MPI_Info_free(&none);
	printf("rank %d sum %016lx\n", rank, sum);
	MPI_Finalize();
	return 0;
}

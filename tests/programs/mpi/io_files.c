/* MPI-IO: every way to read and write; asserts what it reads.  `io_files FILE`. */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef NDEBUG
#define N 40

static int rank, size;

static int *numbers(int from)
{
	int *list = malloc(N * sizeof(int));

	for (int i = 0; i < N; i++)
		list[i] = from + i;
	return list;
}

static void expect(const int *list, int count, int from)
{
	for (int i = 0; i < count; i++)
		assert(list[i] == from + i);
}

static void expect_count(MPI_Status *status, int want)
{
	int count = -1;

	MPI_Get_count(status, MPI_INT, &count);
	assert(count == want);
}

static void plain(MPI_File file)
{
	int *out = numbers(rank * 1000), *in = numbers(-100);
	MPI_Offset at = (MPI_Offset)rank * N * (MPI_Offset)sizeof(int), got;
	MPI_Status status;

	MPI_File_write_at(file, at, out, N, MPI_INT, &status);
	expect_count(&status, N);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at_all(file, (rank + 1) % size * N * (MPI_Offset)sizeof(int), in, N, MPI_INT, &status);
	expect_count(&status, N);
	expect(in, N, (rank + 1) % size * 1000);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_read(file, in, 7, MPI_INT, &status);
	expect(in, 7, rank * 1000);
	MPI_File_get_position(file, &got);
	assert(got == at + 7 * (MPI_Offset)sizeof(int));
	MPI_File_get_byte_offset(file, got, &got);
	assert(got == at + 7 * (MPI_Offset)sizeof(int));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_write(file, out + 1, 2, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_read_all(file, in, 3, MPI_INT, MPI_STATUS_IGNORE);
	assert(in[0] == rank * 1000 + 1 && in[1] == rank * 1000 + 2 && in[2] == rank * 1000 + 2);
	MPI_File_get_size(file, &got);
	assert(got == (MPI_Offset)size * N * (MPI_Offset)sizeof(int));
	/* beyond the end only a part comes, and the rest of the buffer stays */
	memset(in, 0x55, N * sizeof(int));
	MPI_File_read_at(file, got - 3 * (MPI_Offset)sizeof(int), in, N, MPI_INT, &status);
	expect_count(&status, 3);
	expect(in, 3, (size - 1) * 1000 + N - 3);
	assert(in[3] == 0x55555555 && in[N - 1] == 0x55555555);
	free(out);
	free(in);
}

/* Ranks own every size-th block; in memory every other int. */
static void views(MPI_File file)
{
	int *out = numbers(rank * 100), *in = numbers(-100), combiner, a, b, c;
	MPI_Datatype filetype, memory, etype, got;
	char datarep[MPI_MAX_DATAREP_STRING];
	MPI_Offset at;
	MPI_Aint extent;

	MPI_Type_vector(5, 2, 2 * size, MPI_INT, &filetype);
	MPI_Type_commit(&filetype);
	MPI_Type_vector(10, 1, 2, MPI_INT, &memory);
	MPI_Type_commit(&memory);
	MPI_File_set_view(file, (MPI_Offset)(2 * rank * sizeof(int)), MPI_INT, filetype, "native", MPI_INFO_NULL);
	MPI_File_write_all(file, out, 1, memory, MPI_STATUS_IGNORE);
	MPI_File_get_view(file, &at, &etype, &got, datarep);
	assert(at == (MPI_Offset)(2 * rank * sizeof(int)) && !strcmp(datarep, "native"));
	MPI_Type_get_envelope(got, &a, &b, &c, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		MPI_Type_free(&got);
	MPI_File_get_type_extent(file, MPI_INT, &extent);
	assert(extent == sizeof(int));
	MPI_File_seek(file, 0, MPI_SEEK_SET);
	for (int i = 0; i < N; i++)
		in[i] = -i;
	MPI_File_read_all(file, in, 1, memory, MPI_STATUS_IGNORE);
	for (int i = 0; i < 20; i++)
		assert(in[i] == (i % 2 ? -i : rank * 100 + i));
	MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	MPI_File_read_at(file, 0, in, 2 * size, MPI_INT, MPI_STATUS_IGNORE);
	for (int r = 0; r < size; r++)
		assert(in[2 * r] == r * 100 && in[2 * r + 1] == r * 100 + 2);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_Type_free(&filetype);
	MPI_Type_free(&memory);
	free(out);
	free(in);
}

static void nonblocking(MPI_File file)
{
	int *out = numbers(rank * 500), *in = numbers(-100), *more = numbers(-200);
	MPI_Offset at = (MPI_Offset)rank * N * (MPI_Offset)sizeof(int);
	MPI_Request request[2];
	MPI_Status status[2];

	MPI_File_iwrite_at(file, at, out, N, MPI_INT, &request[0]);
	MPI_Wait(&request[0], &status[0]);
	expect_count(&status[0], N);
	MPI_File_iread_at(file, at, in, N / 2, MPI_INT, &request[0]);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_iread(file, more, N, MPI_INT, &request[1]);
	MPI_Waitall(2, request, status);
	expect_count(&status[1], N);
	expect(in, N / 2, rank * 500);
	expect(more, N, rank * 500);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_iwrite_at_all(file, at, out, N, MPI_INT, &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	MPI_File_iread_at_all(file, (rank + 1) % size * N * (MPI_Offset)sizeof(int), in, 3, MPI_INT, &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	assert(in[0] == (rank + 1) % size * 500);
	free(out);
	free(in);
	free(more);
}

static void split(MPI_File file)
{
	int *out = numbers(rank * 7), *in = numbers(-100);
	MPI_Offset at = (MPI_Offset)rank * N * (MPI_Offset)sizeof(int);
	MPI_Status status;

	MPI_File_write_at_all_begin(file, at, out, N, MPI_INT);
	MPI_File_write_at_all_end(file, out, &status);
	expect_count(&status, N);
	MPI_File_read_at_all_begin(file, at, in, N, MPI_INT);
	MPI_File_read_at_all_end(file, in, &status);
	expect(in, N, rank * 7);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_write_all_begin(file, out, N, MPI_INT);
	MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
	MPI_File_seek(file, at, MPI_SEEK_SET);
	MPI_File_read_all_begin(file, in, 5, MPI_INT);
	MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
	expect(in, 5, rank * 7);
	free(out);
	free(in);
}

/* The shared pointer: in order of ranks, then in any order. */
static void shared(MPI_File file)
{
	int *out = numbers(rank * 10), in[4] = {-1, -1, -1, -1}, sum, all;
	MPI_Offset at;

	MPI_File_set_size(file, 0);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	MPI_File_write_ordered(file, out, 2, MPI_INT, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	MPI_File_read_ordered(file, in, 2, MPI_INT, MPI_STATUS_IGNORE);
	assert(in[0] == rank * 10 && in[1] == rank * 10 + 1 && in[2] == -1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_get_position_shared(file, &at);
	assert(at == (MPI_Offset)(2 * size * sizeof(int)));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
	MPI_File_read_shared(file, &sum, 1, MPI_INT, MPI_STATUS_IGNORE); /* whose, only the log knows */
	MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	assert(all == size * (size - 1) / 2);
	free(out);
}

/* Neither Open MPI nor MPICH calls these: they say so. */
static int convert(void *user, MPI_Datatype type, int count, void *out, MPI_Offset position, void *extra)
{
	(void)user, (void)type, (void)count, (void)out, (void)position, (void)extra;
	assert(0);
	return MPI_SUCCESS;
}

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *extra)
{
	(void)type, (void)bytes, (void)extra;
	assert(0);
	return MPI_SUCCESS;
}

static void representations(MPI_File file)
{
	int class;

	MPI_Error_class(MPI_Register_datarep("mine", convert, convert, extent, NULL), &class);
	if (class == MPI_ERR_OTHER)
		return; /* Open MPI 5 has none */
	assert(class == MPI_ERR_CONVERSION);
	MPI_Register_datarep("lengths", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL);
	MPI_Error_class(MPI_Register_datarep("lengths", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL),
			&class);
	assert(class == MPI_ERR_DUP_DATAREP);
	MPI_Error_class(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "lengths", MPI_INFO_NULL), &class);
	assert(class == MPI_ERR_UNSUPPORTED_DATAREP);
}

static int complaint;
static void complain(MPI_File *file, int *code, ...)
{
	assert(*file != MPI_FILE_NULL);
	complaint = *code;
}

static void errors(MPI_File file)
{
	MPI_Errhandler handler, mine;
	MPI_File none;
	int rc, class, value;

	MPI_File_get_errhandler(file, &handler);
	assert(handler == MPI_ERRORS_RETURN);
	rc = MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
	MPI_Error_class(rc, &class);
	assert(class == MPI_ERR_NO_SUCH_FILE || class == MPI_ERR_IO || class == MPI_ERR_FILE);
	rc = MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL);
	assert(rc != MPI_SUCCESS);
	MPI_File_create_errhandler(complain, &mine);
	MPI_File_set_errhandler(file, mine);
	rc = MPI_File_read_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE);
	assert(rc != MPI_SUCCESS && complaint == rc);
	MPI_File_call_errhandler(file, MPI_ERR_OTHER);
	assert(complaint == MPI_ERR_OTHER);
	MPI_Errhandler_free(&mine);
}

int main(int argc, char **argv)
{
	MPI_File file;
	MPI_Group group;
	MPI_Info info;
	int amode, flag;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	assert(argc == 2);
	amode = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	assert(amode == MPI_SUCCESS);
	MPI_File_get_amode(file, &amode);
	assert(amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
	MPI_File_get_group(file, &group);
	MPI_Group_size(group, &flag);
	assert(flag == size);
	MPI_Group_free(&group);
	MPI_File_get_info(file, &info);
	MPI_File_set_info(file, info);
	MPI_Info_free(&info);
	MPI_File_set_atomicity(file, 0);
	MPI_File_get_atomicity(file, &flag);
	assert(!flag);
	plain(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_preallocate(file, 100000);
	views(file);
	MPI_Barrier(MPI_COMM_WORLD); /* nobody truncates what others still read */
	nonblocking(file);
	MPI_Barrier(MPI_COMM_WORLD);
	split(file);
	MPI_Barrier(MPI_COMM_WORLD);
	shared(file);
	MPI_Barrier(MPI_COMM_WORLD);
	representations(file);
	errors(file);
	MPI_File_close(&file);
	assert(file == MPI_FILE_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		MPI_File_delete(argv[1], MPI_INFO_NULL);
	printf("%d: files\n", rank);
	MPI_Finalize();
	return 0;
}

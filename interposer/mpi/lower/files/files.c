/* Reading and writing files.  Reads go to lower memory first, so that the program's memory does not change in a call
 * that fails, or while other threads run. */
#include "lower/files/files.h"
#include "lower/objects/real.h"

void file_release(struct vobject *object)
{
	struct vfile *file = (struct vfile *)object;

	staged_release(file->split);
	free(file->path);
}

/* fh, disp, etype, filetype, datarep */
int64_t real_File_get_view(const uint64_t *a)
{
	char datarep[MPI_MAX_DATAREP_STRING] = "";
	MPI_Offset at = 0;
	MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
	int rc = PMPI_File_get_view(file_of(a[0])->o.real, &at, &etype, &filetype, datarep);

	if (rc != MPI_SUCCESS)
		return rc;
	put((void *)a[1], &at, sizeof(at));
	put_handle((void *)a[2], RDB_TYPE, type_new(etype)->o.id);
	put_handle((void *)a[3], RDB_TYPE, type_new(filetype)->o.id);
	put((void *)a[4], datarep, strlen(datarep) + 1);
	return rc;
}

static int64_t have_read(int rc, struct staged_read *flight, const MPI_Status *status, uint64_t upper_status)
{
	if (rc == MPI_SUCCESS) {
		staged_deliver(flight, status);
		status_out((void *)upper_status, status, false);
	}
	staged_release(flight);
	return rc;
}

static int64_t have_written(int rc, const MPI_Status *status, uint64_t upper_status)
{
	if (rc == MPI_SUCCESS)
		status_out((void *)upper_status, status, false);
	return rc;
}

/* Makes the request of a nonblocking call; `flight`: of a read, else NULL. */
static int64_t posted(int rc, MPI_Request real, struct staged_read *flight, uint64_t upper)
{
	struct vreq *request;

	if (rc == MPI_SUCCESS) {
		request = request_new(real);
		request->active = true;
		request->staged_read = flight ? staged_hold(flight) : NULL;
		put_handle((void *)upper, RDB_REQUEST, request->o.id);
	}
	staged_release(flight);
	return rc;
}

/* First call of a split collective; there is at most one for each file. */
static int64_t split(int rc, struct vfile *file, struct staged_read *flight)
{
	if (rc != MPI_SUCCESS) {
		staged_release(flight);
		return rc;
	}
	staged_release(file->split);
	file->split = flight;
	return rc;
}

static int64_t joined(int rc, struct vfile *file, const MPI_Status *status, uint64_t upper_status)
{
	struct staged_read *flight = file->split;

	if (rc != MPI_SUCCESS || !flight)
		return rc;
	file->split = NULL;
	return have_read(rc, flight, status, upper_status);
}

/* Second call of a split collective that was carried out before the restart: only the result is left to deliver. */
static int64_t begun(struct vfile *file, uint64_t upper_status)
{
	struct staged_read *flight = file->split;
	MPI_Status status = status_empty;

	PMPI_Status_set_elements_x(&status, MPI_BYTE, file->begun_bytes);
	file->split = NULL;
	file->begun = false;
	if (flight)
		return have_read(MPI_SUCCESS, flight, &status, upper_status);
	return have_written(MPI_SUCCESS, &status, upper_status);
}

/* fh, for *_at* functions offset, then buf, count, datatype */
#define FILE_REAL file_of(a[0])->o.real
#define PLACE FILE_REAL
#define PLACE_AT FILE_REAL, (MPI_Offset)a[1]
#define FLIGHT(i) staged_begin((void *)a[i], (int)a[(i) + 1], type_of(a[(i) + 2]), true)
#define INTO(i) flight->buffer, (int)a[(i) + 1], flight->type->o.real
#define FROM(i) (const void *)a[i], (int)a[(i) + 1], type_of(a[(i) + 2])->o.real

#define ALONE(call) (call)
#define IN_TURN(call) \
	({ \
		struct file_turn turn_; \
\
		file_turn_begin(&turn_, file_of(a[0])); \
		int called_ = (call); \
		file_turn_end(&turn_); \
		called_; \
	})

#define READ(name, place, i, as) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		struct staged_read *flight = FLIGHT(i); \
		MPI_Status status = status_empty; \
		int rc = as(BLOCKING(PMPI_File_##name(place, INTO(i), &status))); \
\
		return have_read(rc, flight, &status, a[(i) + 3]); \
	}
#define WRITE(name, place, i, as) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		MPI_Status status = status_empty; \
		int rc = as(BLOCKING(PMPI_File_##name(place, FROM(i), &status))); \
\
		return have_written(rc, &status, a[(i) + 3]); \
	}
#define IREAD(name, place, i, as) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		struct staged_read *flight = FLIGHT(i); \
		MPI_Request real = MPI_REQUEST_NULL; \
		int rc = as(BLOCKING(PMPI_File_##name(place, INTO(i), a[(i) + 3] ? &real : NULL))); \
\
		return posted(rc, real, flight, a[(i) + 3]); \
	}
#define IWRITE(name, place, i, as) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		MPI_Request real = MPI_REQUEST_NULL; \
		int rc = as(BLOCKING(PMPI_File_##name(place, FROM(i), a[(i) + 3] ? &real : NULL))); \
\
		return posted(rc, real, NULL, a[(i) + 3]); \
	}
#define READ_BEGIN(name, place, i) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		struct vfile *file = file_of(a[0]); \
		struct staged_read *flight = FLIGHT(i); \
		int rc = BLOCKING(PMPI_File_##name(place, INTO(i))); \
\
		return split(rc, file, flight); \
	}
#define WRITE_BEGIN(name, place, i) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		return BLOCKING(PMPI_File_##name(place, FROM(i))); \
	}
/* fh, buf, status */
#define READ_END(name) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		struct vfile *file = file_of(a[0]); \
		MPI_Status status = status_empty; \
		void *buffer = file->split ? file->split->buffer : (void *)a[1]; \
\
		if (file->begun) \
			return begun(file, a[2]); \
		int rc = BLOCKING(PMPI_File_##name(file->o.real, buffer, &status)); \
\
		return joined(rc, file, &status, a[2]); \
	}
#define WRITE_END(name) \
	int64_t real_File_##name(const uint64_t *a) \
	{ \
		MPI_Status status = status_empty; \
\
		if (file_of(a[0])->begun) \
			return begun(file_of(a[0]), a[2]); \
		int rc = BLOCKING(PMPI_File_##name(FILE_REAL, (const void *)a[1], &status)); \
\
		return have_written(rc, &status, a[2]); \
	}

READ(read, PLACE, 1, ALONE)
READ(read_all, PLACE, 1, ALONE)
READ(read_shared, PLACE, 1, IN_TURN)
READ(read_ordered, PLACE, 1, ALONE)
READ(read_at, PLACE_AT, 2, ALONE)
READ(read_at_all, PLACE_AT, 2, ALONE)
WRITE(write, PLACE, 1, ALONE)
WRITE(write_all, PLACE, 1, ALONE)
WRITE(write_shared, PLACE, 1, IN_TURN)
WRITE(write_ordered, PLACE, 1, ALONE)
WRITE(write_at, PLACE_AT, 2, ALONE)
WRITE(write_at_all, PLACE_AT, 2, ALONE)
IREAD(iread, PLACE, 1, ALONE)
IREAD(iread_all, PLACE, 1, ALONE)
IREAD(iread_shared, PLACE, 1, IN_TURN)
IREAD(iread_at, PLACE_AT, 2, ALONE)
IREAD(iread_at_all, PLACE_AT, 2, ALONE)
IWRITE(iwrite, PLACE, 1, ALONE)
IWRITE(iwrite_all, PLACE, 1, ALONE)
IWRITE(iwrite_shared, PLACE, 1, IN_TURN)
IWRITE(iwrite_at, PLACE_AT, 2, ALONE)
IWRITE(iwrite_at_all, PLACE_AT, 2, ALONE)
READ_BEGIN(read_all_begin, PLACE, 1)
READ_BEGIN(read_ordered_begin, PLACE, 1)
READ_BEGIN(read_at_all_begin, PLACE_AT, 2)
WRITE_BEGIN(write_all_begin, PLACE, 1)
WRITE_BEGIN(write_ordered_begin, PLACE, 1)
WRITE_BEGIN(write_at_all_begin, PLACE_AT, 2)
READ_END(read_all_end)
READ_END(read_ordered_end)
READ_END(read_at_all_end)
WRITE_END(write_all_end)
WRITE_END(write_ordered_end)
WRITE_END(write_at_all_end)

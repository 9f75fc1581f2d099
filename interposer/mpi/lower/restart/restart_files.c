/* MPI files on the way to a cut.  The program's operations are done again on copies, in the plan's order of all ranks.
 * So at the cut the files are open with their views and file pointers, and have their contents.  Data that is read on
 * the way is compared with the recording. */
#include "lower/restart/restart_files.h"
#include "lower/checkpoint/coordinated_files.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "lower/objects/large.h"

typedef int io_call(MPI_File, void *, int, MPI_Datatype, MPI_Status *);
typedef int io_at_call(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);

static const struct way {
	const char *name;
	io_call *call;
	io_at_call *at;
	bool reads;
} ways[] = {
	{"read", PMPI_File_read, NULL, true},
	{"read_all", PMPI_File_read_all, NULL, true},
	{"read_shared", PMPI_File_read_shared, NULL, true},
	{"read_ordered", PMPI_File_read_ordered, NULL, true},
	{"read_at", NULL, PMPI_File_read_at, true},
	{"read_at_all", NULL, PMPI_File_read_at_all, true},
	{"write", (io_call *)PMPI_File_write, NULL, false},
	{"write_all", (io_call *)PMPI_File_write_all, NULL, false},
	{"write_shared", (io_call *)PMPI_File_write_shared, NULL, false},
	{"write_ordered", (io_call *)PMPI_File_write_ordered, NULL, false},
	{"write_at", NULL, (io_at_call *)PMPI_File_write_at, false},
	{"write_at_all", NULL, (io_at_call *)PMPI_File_write_at_all, false},
};

/* The current call, between restart_file_asked() and restart_file_answered(): the data that it read now, to be compared
 * with the recording, or to be delivered when its request is complete (later). */
static struct {
	struct staged_read *flight;
	int64_t bytes;
	bool done, later;
	const char *path;
} now;

static const char *file_refuse(const char *path, const char *what)
{
	return restart_refuse(path && *path ? path : "an MPI file", what);
}

/* The blocking function for `name` (without MPI_File_), which may be nonblocking or the begin of a split collective. */
static const struct way *way_of(const char *name, bool *nonblocking, bool *split)
{
	char base[64];
	size_t len;

	*nonblocking = !strncmp(name, "iread", 5) || !strncmp(name, "iwrite", 6);
	snprintf(base, sizeof(base), "%s", name + *nonblocking);
	len = strlen(base);
	*split = len > 6 && !strcmp(base + len - 6, "_begin");
	if (*split)
		base[len - 6] = 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, base))
			return &ways[i];
	return NULL;
}

static const char *transfer(const struct file_step *step, const struct way *way, const uint64_t *a)
{
	struct vfile *file = file_of(a[0]);
	MPI_File real = REAL(MPI_File, file->o.real);
	const uint64_t *from = a + (way->at ? 2 : 1); /* buf, count, datatype */
	struct vtype *type = type_of(from[2]);
	MPI_Datatype real_type = REAL(MPI_Datatype, type->o.real);
	void *buffer = (void *)from[0];
	MPI_Status status = status_empty;
	MPI_Offset position = step->position;
	int rc, count = (int)from[1];

	file->turned |= strstr(way->name, "_shared") || strstr(way->name, "_ordered");
	if (step->position >= 0)
		PMPI_File_get_position_shared(real, &position);
	if (position != step->position)
		return file_refuse(file->path, "the order in which its ranks moved the shared file pointer is not "
					       "known");
	if (way->reads) {
		now.flight = staged_begin(buffer, count, type, true);
		buffer = now.flight->buffer;
	}
	rc = way->at ? way->at(real, (MPI_Offset)a[1], buffer, count, real_type, &status)
		     : way->call(real, buffer, count, real_type, &status);
	if (rc != MPI_SUCCESS)
		return file_refuse(file->path, way->reads ? "it cannot be read now" : "it cannot be written now");
	now.bytes = status_bytes(&status);
	now.done = true;
	now.path = file->path;
	return NULL;
}

static const char *restore_base(const struct file_step *step, const char *name)
{
	char path[FILE_PATH];
	int rc = 0;

	if (step->base == BASE_STAYS)
		return NULL;
	if (!file_whole_path(name, path) || file_place(path) == path)
		return file_refuse(name, "the branch has no place for a copy of it");
	if (step->base == BASE_COPY)
		rc = file_copy(step->source, file_place(path));
	else if (unlink(file_place(path)) && errno != ENOENT)
		rc = -errno;
	return rc ? file_refuse(path, strerror(-rc)) : NULL;
}

static const char *do_again(const struct file_step *step, const char *name, enum kind kind, unsigned index,
			    uint32_t nargs, const uint64_t *a, int64_t *result)
{
	uint64_t large[TRANSLATION_ARGUMENTS];
	bool nonblocking, split;
	const struct way *way = way_of(name, &nonblocking, &split);
	const char *why;

	if (kind == OPENS || index == RDB_File_delete) {
		why = restore_base(step, (const char *)a[kind == OPENS]);
		if (why)
			return why;
	}
	if (kind == OPENS)
		PMPI_Barrier(REAL(MPI_Comm, comm_of(a[0])->o.real)); /* none opens it before it is restored */
	if (way) {
		why = transfer(step, way, large_call(index, a) ? large_arguments(index, nargs, a, large) : a);
		if (why || nonblocking || !split) {
			now.later = nonblocking;
			return why;
		}
		struct vfile *file = file_of(a[0]);

		file->begun = true;
		file->begun_bytes = now.bytes;
		file->split = now.flight;
		now.flight = NULL;
		now.done = false;
		return NULL;
	}
	if (index == RDB_File_seek_shared)
		file_of(a[0])->turned = true;
	if ((int)restart_silent_call(index, nargs, a))
		return file_refuse(kind == OPENS ? (const char *)a[1] : name, "it fails now");
	if (kind == OPENS)
		*result = 1;
	return NULL;
}

const char *restart_file_asked(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			       int64_t *result)
{
	const struct file_step *step;
	const char *why;

	staged_release(now.flight);
	memset(&now, 0, sizeof(now));
	if (strncmp(name, "MPI_File_", 9) || *result)
		return NULL;
	if (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, "_end")) {
		struct vfile *file = file_of(a[0]);

		now.flight = file->split;
		now.done = file->begun;
		now.path = file->path;
		file->split = NULL;
		file->begun = false;
		return NULL;
	}
	step = file_step_now();
	if (!step)
		return NULL;
	file_step_begin(step);
	why = do_again(step, name + 9, kind, index, nargs, a, result);
	file_step_end(step);
	return why;
}

static bool as_recorded(const struct staged_read *flight)
{
	MPI_Datatype type = REAL(MPI_Datatype, flight->type->o.real);
	int room = 0, was = 0, is = 0;
	char *two;
	bool equal;

	if (!flight->room || PMPI_Pack_size((int)flight->count, type, MPI_COMM_SELF, &room) != MPI_SUCCESS)
		return true; /* nothing was read */
	two = needed(calloc(2, (size_t)room + 1));
	PMPI_Pack(flight->upper, (int)flight->count, type, two, room, &was, MPI_COMM_SELF);
	PMPI_Pack(flight->buffer, (int)flight->count, type, two + room, room, &is, MPI_COMM_SELF);
	equal = was == is && !memcmp(two, two + room, (size_t)was);
	free(two);
	return equal;
}

const char *restart_file_answered(void)
{
	bool equal = !now.done || now.later || !now.flight || as_recorded(now.flight);

	if (now.later)
		return NULL; /* restart_file_posted() has it */
	staged_release(now.flight);
	now.flight = NULL;
	return equal ? NULL
		     : file_refuse(now.path,
				   "what is read from it differs from the recording: another process has changed it, "
				   "or several ranks wrote to the same bytes and their order is not known");
}

void restart_file_posted(struct pending *one)
{
	one->file = now.done;
	one->bytes = now.bytes;
	one->flight = now.flight;
	now.flight = NULL;
}

/* Copies the contents back to the program's own files. */
static const char *roll_back(void)
{
	const char *path, *place;

	for (unsigned i = 0; file_moved_at(i, &path, &place); i++) {
		int rc = access(place, F_OK) ? (unlink(path) && errno != ENOENT ? -errno : 0) : file_copy(place, path);

		if (rc)
			return file_refuse(path, strerror(-rc));
		unlink(place);
	}
	return NULL;
}

/* Closes the copies, after saving how they were open; in the order of opening, which is the same in all their ranks. */
static const char *leave_copies(struct bytes *out)
{
	for (struct vfile *one = file_after(NULL), *next; one; one = next) {
		MPI_File real = REAL(MPI_File, one->o.real);

		next = file_after(one);
		if (file_place(one->path) == one->path)
			continue;
		if (!restart_file_put(out, one, NULL) || PMPI_File_close(&real) != MPI_SUCCESS)
			return file_refuse(one->path, "its copy cannot be closed");
		if (one->first && one->writes)
			file_written_until(one->path);
		staged_release(one->split);
		one->split = NULL;
		object_drop(&one->o);
	}
	put_number(out, 0);
	return NULL;
}

static const char *in_place(void)
{
	struct bytes open = {0};
	const char *why = leave_copies(&open);
	uint32_t id;
	int rank;

	PMPI_Barrier(MPI_COMM_WORLD);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank && !why)
		why = roll_back();
	PMPI_Barrier(MPI_COMM_WORLD);
	files_stay();
	open.at = open.base;
	open.end = open.base + open.len;
	while (!why && (id = (uint32_t)get_number(&open)))
		why = restart_file_get(&open, id);
	free(open.base);
	return why;
}

const char *restart_files_cut(const char *folder)
{
	bool any;
	const char *why = file_steps_over(&any);

	if (!why && any)
		why = restart_files_save(folder);
	return !why && any && host->in_place ? in_place() : why;
}

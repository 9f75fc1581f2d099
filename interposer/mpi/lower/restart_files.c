/* Files of MPI on the way to a cut.  What the program did to them is done again, in the plan's order of all ranks, and to
 * copies: so at the cut they are open as they were, with views and file pointers, and hold what they held.  What is read
 * on the way is compared with the recording. */
#include "restart_files.h"
#include "together_files.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "large.h"

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

/* The present call, between its two halves: what it read here, to be compared with what it had read, or delivered when
 * its request is complete. */
static struct {
	struct inflight *flight;
	int64_t bytes;
	bool done, later;
	const char *path;
} now;

static const char *file_refuse(const char *path, const char *what)
{
	return restart_refuse(path && *path ? path : "a file of MPI", what);
}

/* `name` without MPI_File_; one that is nonblocking or split does what the blocking one does. */
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
		return file_refuse(file->path, "in which order its ranks had the shared file pointer is not known");
	if (way->reads) {
		now.flight = inflight_begin(buffer, count, type, true);
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
		return file_refuse(name, "it is in no place of the branch's own");
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
		PMPI_Barrier(REAL(MPI_Comm, comm_of(a[0])->o.real)); /* none opens it before it is as it was */
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

	inflight_release(now.flight);
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

static bool as_recorded(const struct inflight *flight)
{
	MPI_Datatype type = REAL(MPI_Datatype, flight->type->o.real);
	int room = 0, was = 0, is = 0;
	char *two;
	bool equal;

	if (!flight->room || PMPI_Pack_size((int)flight->count, type, MPI_COMM_SELF, &room) != MPI_SUCCESS)
		return true; /* nothing was asked for */
	two = calloc(2, (size_t)room + 1);
	if (!two)
		host->fatal("out of memory in the MPI boundary");
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
	inflight_release(now.flight);
	now.flight = NULL;
	return equal ? NULL
		     : file_refuse(now.path,
				   "what is read from it is not what the recording has: somebody else has changed "
				   "it, or ranks wrote to the same bytes and nothing says who was first");
}

void restart_file_posted(struct pending *one)
{
	one->file = now.done;
	one->bytes = now.bytes;
	one->flight = now.flight;
	now.flight = NULL;
}

/* The program's own files get what the copies hold. */
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

/* In the order in which they were opened, which is the same in all ranks that have them. */
static const char *leave_copies(struct bytes *out)
{
	for (struct vfile *one = file_after(NULL), *next; one; one = next) {
		MPI_File real = REAL(MPI_File, one->o.real);

		next = file_after(one);
		if (file_place(one->path) == one->path)
			continue;
		if (!restart_file_put(out, one, NULL) || PMPI_File_close(&real) != MPI_SUCCESS)
			return file_refuse(one->path, "it cannot be closed");
		if (one->first && one->writes)
			file_written_until(one->path);
		inflight_release(one->split);
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

/* State of MPI files at the beginning of a branch, for restarts of it: open files with their views and pointers
 * (mpi-files-open), as text for the plan (mpi-files-begun), and copies of the files that the job has written
 * (mpi-was-N, made by the first rank). */
#include <stdio.h>
#include <unistd.h>
#include "lower/restart/restart_files.h"
#include "lower/restart/restart_journal.h"
#include "lower/checkpoint/coordinated_files.h"

#define BEGUN_MAGIC 0x316e67656966ll

/* ---- reads under way ---- */

bool flight_put(struct bytes *out, const struct staged_read *flight)
{
	bool known = flight && type_of(flight->type->o.id) == flight->type;

	put_number(out, !flight ? -1 : known ? (int64_t)flight->type->o.id : -2);
	if (!known)
		return !flight;
	put_number(out, flight->count);
	put_number(out, (int64_t)flight->upper);
	put_number(out, flight->room ? (int64_t)flight->room_bytes : 0);
	put_bytes(out, flight->room, flight->room ? flight->room_bytes : 0);
	return true;
}

struct staged_read *flight_get(struct bytes *in, bool *lost)
{
	int64_t type = get_number(in), count, upper, len;
	struct staged_read *flight;
	const void *bytes;

	*lost = type == -2;
	if (type < 0)
		return NULL;
	count = get_number(in);
	upper = get_number(in);
	len = get_number(in);
	bytes = len ? get_bytes(in, (size_t)len) : NULL;
	if (in->bad || type_of((uint64_t)type)->o.id != (uint32_t)type)
		return NULL;
	flight = staged_begin((void *)upper, count, type_of((uint64_t)type), true);
	in->bad |= len != (flight->room ? (int64_t)flight->room_bytes : 0);
	if (!in->bad && len)
		memcpy(flight->room, bytes, (size_t)len);
	return flight;
}

/* ---- at the cut ---- */

static MPI_Comm ranks_of(const struct vfile *file, MPI_Group *group)
{
	MPI_Comm comm = MPI_COMM_NULL;

	if (PMPI_File_get_group(REAL(MPI_File, file->o.real), group) != MPI_SUCCESS ||
	    PMPI_Comm_create_group(MPI_COMM_WORLD, *group, 0, &comm) != MPI_SUCCESS)
		return MPI_COMM_NULL;
	return comm;
}

static void put_words(FILE *words, const struct vfile *file, MPI_Group group)
{
	MPI_Group world;
	int size = 0, rank;

	PMPI_Comm_group(MPI_COMM_WORLD, &world);
	PMPI_Group_size(group, &size);
	fprintf(words, "open %u %d ", file->o.id, file->writes);
	for (int i = 0; i < size; i++) {
		PMPI_Group_translate_ranks(group, 1, &i, world, &rank);
		fprintf(words, "%s%d", i ? "," : "", rank);
	}
	fprintf(words, " %s\n", file->path);
	PMPI_Group_free(&world);
}

bool restart_file_put(struct bytes *out, struct vfile *file, FILE *words)
{
	MPI_File real = REAL(MPI_File, file->o.real);
	MPI_Offset own = 0, shared = -1;
	MPI_Info info = MPI_INFO_NULL;
	MPI_Group group = MPI_GROUP_NULL;
	int used = 0, atomic = 0;
	MPI_Comm comm = ranks_of(file, &group);

	if (comm == MPI_COMM_NULL)
		return false;
	if (file->writes)
		PMPI_File_sync(real);
	PMPI_Allreduce(&file->turned, &used, 1, MPI_INT, MPI_MAX, comm);
	if (used && PMPI_File_get_position_shared(real, &shared) != MPI_SUCCESS)
		shared = -1;
	PMPI_File_get_position(real, &own);
	PMPI_File_get_atomicity(real, &atomic);
	PMPI_File_get_info(real, &info);
	put_number(out, file->o.id);
	put_text(out, file->path);
	put_number(out, file_mode_out(file->amode));
	put_number(out, file->begun);
	put_number(out, file->begun_bytes);
	flight_put(out, file->split);
	put_group(out, group);
	put_info(out, info);
	put_number(out, own);
	put_number(out, shared);
	put_number(out, atomic);
	file_put_view(out, real);
	if (words)
		put_words(words, file, group);
	if (info != MPI_INFO_NULL)
		PMPI_Info_free(&info);
	PMPI_Group_free(&group);
	PMPI_Comm_free(&comm);
	return true;
}

/* Called in the first rank, after all ranks have written. */
static const char *keep_contents(const char *folder, FILE *words)
{
	const char *path, *place;
	char kept[FILE_PATH + 64];

	for (unsigned i = 0; file_moved_at(i, &path, &place); i++) {
		bool there = access(place, F_OK) == 0;

		snprintf(kept, sizeof(kept), "%s/mpi-was-%u", folder, i);
		fprintf(words, there ? "was %u %s\n" : "absent %u %s\n", i, path);
		int rc = there ? file_copy(place, kept) : 0;

		if (rc)
			return restart_refuse(path, strerror(-rc));
	}
	return NULL;
}

const char *restart_files_save(const char *folder)
{
	struct bytes out = {0};
	const char *why = NULL;
	FILE *words, *state;
	bool good = true;
	int rank;

	words = journal_open(folder, "mpi-files-begun", true);
	state = journal_open(folder, "mpi-files-open", true);
	if (!words || !state)
		return restart_refuse("", "its open MPI files cannot be saved in the branch");
	put_number(&out, BEGUN_MAGIC);
	for (struct vfile *one = file_after(NULL); one && good; one = file_after(one))
		good = restart_file_put(&out, one, words);
	put_number(&out, 0);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		why = keep_contents(folder, words);
	good &= fwrite(out.base, 1, out.len, state) == out.len;
	good &= !fclose(words);
	good &= !fclose(state);
	free(out.base);
	PMPI_Barrier(MPI_COMM_WORLD); /* no rank may change the files before they are copied */
	return why ? why : good ? NULL : restart_refuse("", "its open MPI files cannot be saved in the branch");
}

/* ---- a restart of the branch ---- */

const char *restart_file_get(struct bytes *in, uint32_t id)
{
	char path[FILE_PATH];
	struct vfile *file;
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_File real = MPI_FILE_NULL;
	bool lost = false;

	get_text(in, path, sizeof(path));
	int amode = file_mode_in(get_number(in));
	bool begun = get_number(in) != 0;
	int64_t begun_bytes = get_number(in);
	struct staged_read *split = flight_get(in, &lost);
	MPI_Group group = get_group(in);
	MPI_Info info = get_info(in);
	int64_t own = get_number(in), shared = get_number(in), atomic = get_number(in);

	if (in->bad || PMPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm) != MPI_SUCCESS)
		return restart_refuse("", "the branch's saved state of MPI files is damaged");
	if (amode & MPI_MODE_SEQUENTIAL)
		return restart_refuse(path, "it is open with MPI_MODE_SEQUENTIAL and cannot be continued; choose an "
					    "event after it was closed, or restart without --in-place the job from "
					    "which the branch was made");
	if (lost)
		return restart_refuse(path, "it was being read when the branch began, with a datatype that was freed "
					    "already; choose an event after that read");
	if (file_opened_again(comm, file_place(path), amode, info, &real) != MPI_SUCCESS)
		return restart_refuse(path, "it cannot be opened again");
	file_see_again(in, real, own, shared, atomic);
	if (in->bad)
		return restart_refuse(path, "its view and file pointers cannot be set again");
	file = file_again(id, real, path, amode, shared >= 0, comm);
	file->begun = begun;
	file->begun_bytes = begun_bytes;
	file->split = split;
	PMPI_Comm_free(&comm);
	PMPI_Group_free(&group);
	if (info != MPI_INFO_NULL)
		PMPI_Info_free(&info);
	return NULL;
}

const char *restart_files_load(const char *folder)
{
	FILE *state = journal_open(folder, "mpi-files-open", false);
	struct bytes in = {0};
	const char *why = NULL;
	uint32_t id;
	long len;

	if (!state)
		return NULL; /* made by an older rdb; the plan refuses it if there were MPI files */
	fseek(state, 0, SEEK_END);
	len = ftell(state);
	rewind(state);
	in.base = journal_room((size_t)len);
	in.at = in.base;
	in.end = in.base + len;
	in.bad = len <= 0 || fread(in.base, (size_t)len, 1, state) != 1 || get_number(&in) != BEGUN_MAGIC;
	fclose(state);
	while (!in.bad && !why && (id = (uint32_t)get_number(&in)))
		why = restart_file_get(&in, id);
	free(in.base);
	return !why && in.bad ? restart_refuse("", "the branch's saved state of MPI files is damaged") : why;
}

/* Opening, closing and deleting files: their names, and the notes in the recording. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include "lower/files/files.h"
#include "lower/objects/real.h"
#include "lower/objects/observer.h"

/* Files of which the branch has its own copy, in `place`. */
static struct moved {
	char *path, *place;
} * moved;
static unsigned nmoved;

/* Places that MPI is given while the table of the branch's own files may change. */
static struct found {
	struct found *next;
	char place[];
} * found;

/* ROMIO and Open MPI accept a kind of file system before a name ("ufs:"); returns the name behind it. */
static const char *without_kind(const char *name)
{
	static const char *const kinds[] = {"ufs", "nfs", "xfs", "pfs", "gpfs", "lustre", "panfs", "pvfs2", "testfs"};
	const char *colon = strchr(name, ':');

	for (size_t i = 0; colon && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i]) == (size_t)(colon - name) && !strncmp(name, kinds[i], strlen(kinds[i])))
			return colon + 1;
	return name;
}

static bool has_folder(const char *path)
{
	char folder[FILE_PATH];
	const char *slash = strrchr(path, '/');

	return slash && (size_t)snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) < sizeof(folder) &&
	       !access(folder, F_OK);
}

/* The program's directories may not exist here, as on another host.  Then finds the file whose path ends with the name.
 * False: none, or several. */
static bool moved_named(const char *start, char path[FILE_PATH])
{
	unsigned found = 0;

	while (!strncmp(start, "./", 2))
		start += 2;
	for (unsigned i = 0; i < nmoved; i++) {
		const size_t whole = strlen(moved[i].path), len = strlen(start);
		const bool same = *start == '/' ? whole == len : whole > len && moved[i].path[whole - len - 1] == '/';

		if (!same || strcmp(moved[i].path + whole - len, start) || has_folder(moved[i].path))
			continue;
		found++;
		snprintf(path, FILE_PATH, "%s", moved[i].path);
	}
	return found == 1;
}

bool file_whole_path(const char *name, char path[FILE_PATH])
{
	char folder[FILE_PATH], resolved[PATH_MAX];
	const char *start = without_kind(name), *slash = strrchr(start, '/');

	if (realpath(start, resolved))
		return (size_t)snprintf(path, FILE_PATH, "%s", resolved) < FILE_PATH;
	if ((size_t)snprintf(folder, sizeof(folder), "%s", start) >= sizeof(folder))
		return false;
	if (slash)
		folder[slash > start ? slash - start : 1] = 0;
	if (!realpath(slash ? folder : ".", resolved))
		return moved_named(start, path);
	if ((size_t)snprintf(path, FILE_PATH, "%s/%s", strcmp(resolved, "/") ? resolved : "",
			     slash ? slash + 1 : start) >= FILE_PATH)
		return false;
	if (file_place(path) == path && moved_named(start, folder))
		strcpy(path, folder);
	return true;
}

const char *file_place(const char *path)
{
	char place[FILE_PATH];
	struct found *one = found;

	for (unsigned i = 0; i < nmoved; i++)
		if (!strcmp(moved[i].path, path))
			return moved[i].place;
	if (!host->own_place(path, place))
		return path;
	while (one && strcmp(one->place, place) != 0)
		one = one->next;
	if (!one) {
		one = needed(malloc(sizeof(*one) + strlen(place) + 1));
		strcpy(one->place, place);
		one->next = found;
		found = one;
	}
	return one->place;
}

void file_moved(const char *path, const char *place)
{
	moved = needed(realloc(moved, (nmoved + 1) * sizeof(*moved)));
	moved[nmoved++] = (struct moved){strdup(path), strdup(place)};
}

bool file_moved_at(unsigned i, const char **path, const char **place)
{
	if (i >= nmoved)
		return false;
	*path = moved[i].path;
	*place = moved[i].place;
	return true;
}

void files_stay(void)
{
	nmoved = 0;
}

static const char *name_of(const char *name, const char *path)
{
	const char *place = *path ? file_place(path) : path;

	return place != path ? place : name;
}

/* All ranks write the same note, except for the earlier contents, which only the first rank notes. */
static void say(struct rdb_note_mpi_file *note, const char *path)
{
	struct {
		struct rdb_note_mpi_file head;
		char path[FILE_PATH];
	} whole = {.head = *note};

	if (!host->recording())
		return;
	memcpy(whole.path, path, strlen(path));
	host->note(RDB_NOTE_MPI_FILE, &whole, sizeof(*note) + strlen(path));
}

void file_opened(struct vfile *file, const struct vcomm *comm)
{
	static unsigned opened;

	file->serial = ++opened;
	file->comm = MPI_COMM_NULL;
	if (observer)
		observer->file_made(file, comm);
}

/* comm, filename, amode, info, fh */
int64_t real_File_open(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[0]);
	struct vobject *info = info_of(a[3]);
	const char *name = (const char *)a[1];
	char path[FILE_PATH] = "";
	int amode = (int)a[2], rc;
	void **upper = (void **)a[4];
	struct rdb_note_mpi_file note = {.writes = (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0};
	bool first = comm->o.real && comm->rank == 0;
	MPI_File real = (MPI_File)(intptr_t)-1; /* no file, nor null, to which some MPIs set it when they fail */
	bool absent = false;

	if (name && !file_whole_path(name, path))
		path[0] = 0;
	if (first && note.writes && host->recording() && *path)
		file_was(path, &note);
	if (first && note.writes && *path)
		absent = host->changes(path, false);
	if (first && *path)
		file_seen(path);
	object_hold(info);
	object_hold(comm);
	rc = BLOCKING(PMPI_File_open(REAL(MPI_Comm, comm->o.real), name_of(name, path), amode,
				     REAL(MPI_Info, info->real), upper ? &real : NULL));
	if (rc == MPI_SUCCESS) {
		struct vfile *file = file_new(real);

		file->path = strdup(path);
		file->first = first;
		file->writes = note.writes;
		file->amode = amode;
		file_opened(file, comm);
		note.id = file->o.id;
		if (first && note.writes)
			file_written_from(path);
		if (absent)
			host->made(path);
		put_handle(upper, RDB_FILE, file->o.id);
		say(&note, path);
	} else if (real == MPI_FILE_NULL) {
		put_handle(upper, RDB_FILE, RDB_NULL_ID);
	}
	object_release(&comm->o);
	object_release(info);
	return rc;
}

/* fh, amode: a restart opens it without the modes that make a file. */
int64_t real_File_get_amode(const uint64_t *a)
{
	const struct vfile *file = file_of(a[0]);
	int amode = 0;
	const int rc = PMPI_File_get_amode(REAL(MPI_File, file->o.real), &amode);

	if (rc == MPI_SUCCESS)
		put((void *)a[1], &file->amode, sizeof(file->amode));
	return rc;
}

/* fh */
int64_t real_File_close(const uint64_t *a)
{
	void **upper = (void **)a[0];
	struct vfile *file = file_of(upper ? rdb_id(RDB_FILE, *upper) : 0);
	struct rdb_note_mpi_file note = {.id = file->o.id, .writes = file->writes};
	MPI_File real = REAL(MPI_File, file->o.real);

	if (file->first && file->path && file->amode & MPI_MODE_DELETE_ON_CLOSE)
		host->changes(file->path, true);
	int rc = BLOCKING(PMPI_File_close(upper ? &real : NULL));

	if (rc != MPI_SUCCESS)
		return rc;
	if (observer)
		observer->file_closed(file);
	host->note(RDB_NOTE_FREED, &file->o.id, sizeof(file->o.id));
	if (file->first && file->writes && file->path)
		file_written_until(file->path);
	object_drop(&file->o);
	put_handle(upper, RDB_FILE, RDB_NULL_ID);
	say(&note, "");
	return rc;
}

/* filename, info */
int64_t real_File_delete(const uint64_t *a)
{
	struct vobject *info = info_of(a[1]);
	const char *name = (const char *)a[0];
	char path[FILE_PATH] = "";
	struct rdb_note_mpi_file note = {.writes = true};
	int rc;

	if (name && !file_whole_path(name, path))
		path[0] = 0;
	if (host->recording() && *path)
		file_was(path, &note);
	if (*path)
		host->changes(path, true);
	object_hold(info);
	rc = BLOCKING(PMPI_File_delete(name_of(name, path), REAL(MPI_Info, info->real)));
	object_release(info);
	if (rc == MPI_SUCCESS)
		say(&note, path);
	return rc;
}

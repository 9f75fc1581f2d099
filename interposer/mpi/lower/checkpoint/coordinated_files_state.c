/* MPI files in a coordinated checkpoint: names, views, file pointers and, for files that are written to, a copy that
 * the first of their ranks makes.  A restart opens them again; a branch works on copies of its own. */
#include "lower/checkpoint/coordinated_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fnv.h"
#include "base/private.h"
#include "lower/objects/real.h"

/* The index in this array is the number of the bit that is saved. */
static const int modes[] = {MPI_MODE_RDONLY,      MPI_MODE_WRONLY, MPI_MODE_RDWR,
			    MPI_MODE_CREATE,      MPI_MODE_EXCL,   MPI_MODE_DELETE_ON_CLOSE,
			    MPI_MODE_UNIQUE_OPEN, MPI_MODE_APPEND, MPI_MODE_SEQUENTIAL};
enum { MODES = sizeof(modes) / sizeof(*modes) };

int64_t file_mode_out(int amode)
{
	int64_t out = 0;

	for (int i = 0; i < MODES; i++)
		out |= (amode & modes[i]) != 0 ? 1 << i : 0;
	return out;
}

int file_mode_in(int64_t out)
{
	int amode = 0;

	for (int i = 0; i < MODES; i++)
		amode |= out >> i & 1 ? modes[i] : 0;
	return amode;
}

int file_opened_again(MPI_Comm comm, const char *path, int amode, MPI_Info info, MPI_File *real)
{
	return PMPI_File_open(comm, path, amode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL), info, real);
}

static void free_type(MPI_Datatype *type)
{
	int i, a, t, combiner = MPI_COMBINER_NAMED;

	PMPI_Type_get_envelope(*type, &i, &a, &t, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		PMPI_Type_free(type);
}

void file_put_view(struct bytes *out, MPI_File real)
{
	char datarep[MPI_MAX_DATAREP_STRING] = "native";
	MPI_Offset at = 0;
	MPI_Datatype etype = MPI_BYTE, filetype = MPI_BYTE;

	PMPI_File_get_view(real, &at, &etype, &filetype, datarep);
	put_number(out, at);
	put_type(out, etype);
	put_type(out, filetype);
	put_text(out, datarep);
	free_type(&etype);
	free_type(&filetype);
}

static const char *kept_as(char *path, size_t size, const char *folder, unsigned number, unsigned slot)
{
	snprintf(path, size, "%s/was-%u-%u", folder, number, BOARD_FILES_FROM + slot);
	return path;
}

static void put_file(struct bytes *out, struct vfile *file, unsigned *slot)
{
	char kept[FILE_PATH + 64];
	MPI_File real = REAL(MPI_File, file->o.real);
	MPI_Offset own = 0, shared = -1;
	MPI_Info info = MPI_INFO_NULL;
	MPI_Group group;
	int used = 0, atomic = 0, rc = 0;

	if (file->writes)
		PMPI_File_sync(real);
	PMPI_Allreduce(&file->turned, &used, 1, MPI_INT, MPI_MAX, file->comm);
	if (file->first && file->writes) {
		kept_as(kept, sizeof(kept), file_folder(), (unsigned)board_wanted(host->board), *slot);
		rc = file_copy(file_place(file->path), kept);
		if (!rc)
			host->whole(kept);
	}
	if (rc)
		host->warn("rank %d: %s cannot be kept in a checkpoint: %s", host->rank, file->path, strerror(-rc));
	if (used && PMPI_File_get_position_shared(real, &shared) != MPI_SUCCESS)
		shared = -1;
	PMPI_File_get_position(real, &own);
	PMPI_File_get_atomicity(real, &atomic);
	PMPI_File_get_info(real, &info);
	PMPI_Comm_group(file->comm, &group);
	put_number(out, file->o.id);
	put_text(out, file->path);
	put_number(out, file_mode_out(file->amode));
	put_number(out, rc ? -1 : file->first && file->writes ? (int64_t)(*slot)++ : BOARD_FILES);
	put_number(out, own);
	put_number(out, shared);
	put_number(out, atomic);
	put_group(out, group);
	put_info(out, info);
	file_put_view(out, real);
	PMPI_Group_free(&group);
	if (info != MPI_INFO_NULL)
		PMPI_Info_free(&info);
}

static void put_closed(struct bytes *out)
{
	const char *path;
	struct stat st;

	for (unsigned i = 0; file_left(i, &path, &st); i++) {
		if (!path)
			continue;
		put_number(out, true);
		put_text(out, path);
		put_number(out, st.st_size);
		put_number(out, st.st_mtim.tv_sec);
		put_number(out, st.st_mtim.tv_nsec);
	}
	put_number(out, false);
}

/* For rdb/live/files/undone.py, which makes the copies of all other files. */
static void list_written(void)
{
	char path[FILE_PATH + 64];
	const int length = snprintf(path, sizeof(path), "%s/undo-%u", file_folder(),
				    (unsigned)board_wanted(host->board));
	int fd = -1;

	for (const struct vfile *one = file_after(NULL); one; one = file_after(one)) {
		if (!one->first || !one->writes || strchr(one->path, '\n'))
			continue;
		if (fd < 0) {
			private_mkdir(path);
			snprintf(path + length, sizeof(path) - (size_t)length, "/mpi-written");
			fd = private_open(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		}
		if (fd < 0 || dprintf(fd, "%s\n", one->path) < 0) {
			host->warn("%s: %s", path, strerror(errno));
			break;
		}
	}
	if (fd >= 0)
		close(fd);
}

void put_files(struct bytes *out)
{
	unsigned slot = 0;

	list_written();
	for (struct vfile *one = file_after(NULL); one; one = file_after(one))
		put_file(out, one, &slot);
	put_number(out, 0);
	put_closed(out);
}

/* ---- a restart ---- */

/* Place of the file in this branch, the same in all ranks: the branch's own copy, or the file itself.
 * rdb/live/files/undone.py has the same name for it. */
static void find_place(const char *path, bool writes, char *place, size_t size)
{
	const char *slash = strrchr(path, '/');
	const uint64_t name = fnv1a(FNV_BEGIN, path, strlen(path));

	snprintf(place, size, "%s", path);
	if (!writes || host->in_place || !host->branch)
		return;
	snprintf(place, size, "%s/../mpi-files", host->branch);
	private_mkdir(place);
	snprintf(place, size, "%s/../mpi-files/%016lx-%.200s", host->branch, (unsigned long)name,
		 slash ? slash + 1 : path);
	if (file_place(path) == path) {
		file_moved(path, place);
		host->own_add(path, place);
	}
}

static int open_again(struct bytes *in, const char *path, int amode, int64_t slot, MPI_Comm comm, MPI_Info info,
		      MPI_File *real)
{
	char kept[FILE_PATH + 64], place[2 * FILE_PATH];
	bool writes = (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
	int rc = 0, all;

	find_place(path, writes, place, sizeof(place));
	if (slot < 0)
		rc = -ENODATA;
	else if (slot < BOARD_FILES)
		rc = file_copy(kept_as(kept, sizeof(kept), host->from, host->checkpoint, (unsigned)slot), place);
	if (rc)
		host->warn("rank %d: %s: its content at the checkpoint cannot be brought back: %s", host->rank, path,
			   strerror(-rc));
	rc = rc != 0;
	PMPI_Allreduce(&rc, &all, 1, MPI_INT, MPI_MAX, comm);
	in->bad |= all != 0;
	if (all)
		return MPI_ERR_FILE;
	rc = strcmp(place, path) && access(place, F_OK);
	if (rc)
		host->warn("rank %d: %s is open in ranks of several hosts, which have no file system in common: "
			   "put these ranks on one host, or set RDB_HOME to a directory that all hosts see",
			   host->rank, path);
	PMPI_Allreduce(&rc, &all, 1, MPI_INT, MPI_MAX, comm);
	in->bad |= all != 0;
	if (all)
		return MPI_ERR_FILE;
	return file_opened_again(comm, place, amode, info, real);
}

void file_see_again(struct bytes *in, MPI_File real, int64_t own, int64_t shared, int64_t atomic)
{
	char datarep[MPI_MAX_DATAREP_STRING];
	MPI_Offset at = get_number(in);
	bool own_etype = false, own_filetype = false;
	MPI_Datatype etype = get_type(in, &own_etype), filetype = get_type(in, &own_filetype);

	get_text(in, datarep, sizeof(datarep));
	if (in->bad)
		return;
	in->bad |= PMPI_File_set_view(real, at, etype, filetype, datarep, MPI_INFO_NULL) != MPI_SUCCESS;
	in->bad |= PMPI_File_seek(real, own, MPI_SEEK_SET) != MPI_SUCCESS;
	if (shared >= 0)
		in->bad |= PMPI_File_seek_shared(real, shared, MPI_SEEK_SET) != MPI_SUCCESS;
	if (atomic)
		in->bad |= PMPI_File_set_atomicity(real, 1) != MPI_SUCCESS;
	if (own_etype)
		PMPI_Type_free(&etype);
	if (own_filetype)
		PMPI_Type_free(&filetype);
}

struct vfile *file_again(uint32_t id, MPI_File real, const char *path, int amode, bool turned, MPI_Comm comm)
{
	struct vfile *file = (struct vfile *)object_at(RDB_FILE, id, BITS(real));
	struct vcomm ranks = {.o.real = BITS(comm)};

	file->path = strdup(path);
	file->amode = amode;
	file->writes = (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
	file->turned = turned;
	comm_describe(&ranks);
	file->first = ranks.rank == 0;
	if (file->first && file->writes)
		file_written_from(path);
	file_opened(file, &ranks);
	free(ranks.world);
	return file;
}

static void get_file(struct bytes *in, uint32_t id)
{
	char path[FILE_PATH];
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_File real = MPI_FILE_NULL;

	get_text(in, path, sizeof(path));
	int amode = file_mode_in(get_number(in));
	int64_t slot = get_number(in), own = get_number(in), shared = get_number(in), atomic = get_number(in);
	MPI_Group group = get_group(in);
	MPI_Info info = get_info(in);

	if (in->bad || PMPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm) != MPI_SUCCESS) {
		in->bad = true;
		return;
	}
	in->bad |= open_again(in, path, amode, slot, comm, info, &real) != MPI_SUCCESS;
	if (!in->bad)
		file_see_again(in, real, own, shared, atomic);
	if (in->bad) {
		host->warn("rank %d: %s cannot be opened again", host->rank, path);
		return;
	}
	file_again(id, real, path, amode, shared >= 0, comm);
	PMPI_Comm_free(&comm);
	PMPI_Group_free(&group);
	PMPI_Info_free(&info);
}

static void get_closed(struct bytes *in)
{
	char path[FILE_PATH];
	struct stat was = {0};

	while (!in->bad && get_number(in)) {
		get_text(in, path, sizeof(path));
		was.st_size = get_number(in);
		was.st_mtim.tv_sec = get_number(in);
		was.st_mtim.tv_nsec = get_number(in);
		if (!in->bad && !host->in_place) /* they have been rolled back */
			file_was_closed(path, &was);
	}
}

void get_files(struct bytes *in)
{
	uint32_t id;

	while (!in->bad && (id = (uint32_t)get_number(in)))
		get_file(in, id);
	if (!in->bad)
		get_closed(in);
}

/* MPI files (MPI-3.1, 13): the real MPI reads and writes them in lower memory; a replay touches no file. */
#pragma once
#include "lower/objects/staged_read.h"

#define FILE_PATH 4096

struct vfile {
	struct vobject o;
	struct staged_read *split; /* between the two calls of a split collective read */
	/* After a restart: a split collective was carried out before; its second call returns begun_bytes. */
	bool begun;
	int64_t begun_bytes;
	char *path; /* absolute */
	bool first; /* this rank is rank 0 of those that have opened it */
	bool writes;
	int amode;
	/* For coordinated checkpoints (coordinated_files.h). */
	unsigned serial; /* in the order of opening */
	MPI_Comm comm;
	uint64_t page_name; /* 0: opened by one rank only */
	bool splitting;     /* between the two calls of a split collective */
	int turned;         /* the shared file pointer was used */
};

static inline struct vfile *file_of(uint64_t id)
{
	return (void *)object_of(RDB_FILE, id);
}
static inline struct vfile *file_new(MPI_File real)
{
	return (struct vfile *)object_new(RDB_FILE, real);
}
void file_release(struct vobject *file);
/* Initializes the members for checkpoints, after opening a file (also in a restart). */
void file_opened(struct vfile *file, const struct vcomm *comm);

/* files_open.c: resolves a name that the program gives to MPI, which may begin with the kind of file system, to an
 * absolute path without links.  False: it cannot be resolved. */
bool file_whole_path(const char *name, char path[FILE_PATH]);
/* Place of the file: in a branch it may be the branch's own copy. */
const char *file_place(const char *path);
/* From now on `place` is used instead of `path`. */
void file_moved(const char *path, const char *place);
/* Forgets all such places. */
void files_stay(void);
/* The i-th such place; false: there are fewer. */
bool file_moved_at(unsigned i, const char **path, const char **place);

/* files_kept.c: copies a file, overwriting `to`.  0 or -errno */
int file_copy(const char *from, const char *to);
/* Notes the contents of a file before it may be written to; keeps a copy beside the log if they are not known from the
 * log. */
struct rdb_note_mpi_file;
void file_was(const char *path, struct rdb_note_mpi_file *was);
/* This rank has opened the file for writing, or closed it: its contents are known from the job's logs. */
void file_written_from(const char *path);
void file_written_until(const char *path);
/* The i-th such file, as it was when it was closed; *path is NULL while it is open.  False: there are fewer. */
struct stat;
bool file_left(unsigned i, const char **path, struct stat *left);
/* At the checkpoint from which this branch goes on the file was closed, and was like this. */
void file_was_closed(const char *path, const struct stat *was);
/* The branch opens it for the first time: says so if it is another one now. */
void file_seen(const char *path);
/* This recording's folder. */
const char *file_folder(void);

/* A call that uses the shared file pointer: the recording notes its position and time. */
struct file_turn {
	int lock;
	int64_t position;
};
void file_turn_begin(struct file_turn *turn, const struct vfile *file);
void file_turn_end(struct file_turn *turn);

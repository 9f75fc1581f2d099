/* Files of MPI (MPI-3.1 13): the real MPI reads and writes them, in lower memory; a replay touches no file. */
#ifndef RDB_MPI_FILES_H
#define RDB_MPI_FILES_H
#include "inflight.h"

#define FILE_PATH 4096

struct vfile {
	struct vobject o;
	struct inflight *split; /* between the two calls of a split collective read */
	/* After a restart: of the split collective that was begun only the second call is left. */
	bool begun;
	int64_t begun_bytes;
	char *path; /* absolute */
	bool first; /* this rank is the first of those that have opened it */
	bool writes;
	int amode;
	/* For checkpoints that all ranks take together (together_files.h). */
	unsigned serial;
	MPI_Comm comm;
	uint64_t together; /* 0: of one rank */
	bool splitting;
	int turned; /* it has used the shared file pointer */
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

/* files_open.c: a name as the program gives it to MPI, which may begin with the kind of file system: the absolute path,
 * without links on the way.  False: it cannot be resolved. */
bool file_whole_path(const char *name, char path[FILE_PATH]);
/* Where the file is: in a branch it may be a copy of the branch's own. */
const char *file_place(const char *path);
/* It is in that place from now on. */
void file_moved(const char *path, const char *place);
/* All are in their own places. */
void files_stay(void);
/* Each of those, by number, or false. */
bool file_moved_at(unsigned i, const char **path, const char **place);

/* files_kept.c: 0 or -errno; a file that is there is overwritten. */
int file_copy(const char *from, const char *to);
/* What is in the file before it may be written to: kept beside the log if nobody knows it otherwise. */
struct rdb_note_mpi_file;
void file_was(const char *path, struct rdb_note_mpi_file *was);
/* This job has it open for writing, or has closed it: what is in it is known from its logs. */
void file_written_from(const char *path);
void file_written_until(const char *path);
/* Of each of those by number, or false: one that is closed (else no path), and as it was left. */
struct stat;
bool file_left(unsigned i, const char **path, struct stat *left);
/* This recording's folder. */
const char *file_folder(void);

/* The shared file pointer: a recording says who had it when. */
struct file_turn {
	int lock;
	int64_t position;
};
void file_turn_begin(struct file_turn *turn, const struct vfile *file);
void file_turn_end(struct file_turn *turn);

#endif

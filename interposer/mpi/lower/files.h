/* Files of MPI (MPI-3.1 13): the real MPI reads and writes them, in lower memory; a replay touches no file. */
#ifndef RDB_MPI_FILES_H
#define RDB_MPI_FILES_H
#include "inflight.h"

struct vfile {
	struct vobject o;
	struct inflight *split; /* between the two calls of a split collective read */
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

#endif

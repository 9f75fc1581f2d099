/* Files: whom their errors are told (MPI-3.1 13.7). */
#include "stub.h"

/* A file that is opened takes over what MPI_FILE_NULL has; its id may have been another's before. */
void rdb_file_opened(MPI_File file)
{
	const struct rdb_object *from = rdb_object_find(RDB_FILE, RDB_NULL_ID);
	struct rdb_object *to = rdb_object_find(RDB_FILE, rdb_id(RDB_FILE, file));

	if (!to && from && from->errhandler)
		to = rdb_object_get(RDB_FILE, rdb_id(RDB_FILE, file));
	if (to)
		to->errhandler = from ? from->errhandler : NULL;
}

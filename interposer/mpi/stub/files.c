/* Error handlers of files (MPI-3.1, 13.7). */
#include "stub.h"

/* A new file gets the error handler of MPI_FILE_NULL; its id may have belonged to another file before. */
void rdb_file_opened(MPI_File file)
{
	const struct rdb_object *from = rdb_object_find(RDB_FILE, RDB_NULL_ID);
	struct rdb_object *to = rdb_object_find(RDB_FILE, rdb_id(RDB_FILE, file));

	if (!to && from && from->errhandler)
		to = rdb_object_get(RDB_FILE, rdb_id(RDB_FILE, file));
	if (to)
		to->errhandler = from ? from->errhandler : NULL;
}

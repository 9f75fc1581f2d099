/* Files of MPI on the way to a cut: nothing is done to them, since the log has what was read, and what was written is
 * there.  At the cut none is open: the plan sees to that (rdb/live/mpi_files.py). */
#include "files.h"
#include "restart.h"

#define FILES 1024

static struct {
	char *names[FILES]; /* by id */
	uint32_t closing;
} files;

/* fh */
void restart_file_asked(const uint64_t *a)
{
	files.closing = a[0] ? rdb_id(RDB_FILE, *(void **)a[0]) : 0;
}

/* comm, filename, amode, info, fh */
static const char *opened(const uint64_t *a)
{
	uint32_t id = rdb_id(RDB_FILE, *(void **)a[4]);

	if (id >= FILES || files.names[id])
		return restart_refuse((const char *)a[1], "it is a file of MPI whose number is not as expected");
	files.names[id] = strdup((const char *)a[1]);
	return NULL;
}

const char *restart_file_answered(enum kind kind, const uint64_t *a)
{
	if (kind == OPENS)
		return opened(a);
	if (kind == CLOSES && files.closing < FILES) {
		free(files.names[files.closing]);
		files.names[files.closing] = NULL;
	}
	return NULL;
}

const char *restart_files_cut(void)
{
	for (unsigned id = 0; id < FILES; id++)
		if (files.names[id])
			return restart_refuse(files.names[id],
					      "MPI has it open; choose an event before it was opened or after it was "
					      "closed");
	return NULL;
}

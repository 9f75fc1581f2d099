/* MPI files at a coordinated checkpoint.  Nonblocking operations must be complete, as all requests.  A rank between the
 * two calls of a split collective is not held.  Collectives are counted, so a rank that others wait for in one is not
 * held before it. */
#include "lower/checkpoint/coordinated_files.h"
#include <stdio.h>
#include "base/fnv.h"
#include "lower/objects/real.h"

static const char collectives[] = " set_view set_size preallocate set_atomicity sync set_info seek_shared ";

enum { NOT_LEARNT, ALONE, TOGETHER, BEGINS, ENDS, TURNS = 8 /* the shared file pointer */ };
static uint8_t *what_is;

static unsigned learn(const char *name)
{
	char word[64];
	size_t len = strlen(name);
	unsigned turns;

	if (strncmp(name, "MPI_File_", 9))
		return ALONE;
	snprintf(word, sizeof(word), " %s ", name + 9);
	turns = strstr(name, "_shared") || strstr(name, "_ordered") ? TURNS : 0;
	if (len > 6 && !strcmp(name + len - 6, "_begin"))
		return turns | BEGINS;
	if (len > 4 && !strcmp(name + len - 4, "_end"))
		return turns | ENDS;
	if (strstr(collectives, word) || strstr(name, "_all") || strstr(name, "_ordered"))
		return turns | TOGETHER;
	return turns | ALONE;
}

void coordinated_file(struct vfile *file, const struct vcomm *comm)
{
	int size = 0;

	if (PMPI_Comm_dup(REAL(MPI_Comm, comm->o.real), &file->comm) != MPI_SUCCESS)
		host->fatal("%s: its communicator cannot be duplicated (MPI_Comm_dup)", file->path);
	PMPI_Comm_size(file->comm, &size);
	if (size == 1)
		return;
	file->page_name = comm->page_name;
	if (!file->page_name) { /* in a restart: named by path and ranks */
		uint64_t name = fnv1a(FNV_BEGIN, file->path, strlen(file->path));

		name = fnv1a(name, comm->world, (size_t)size * sizeof(*comm->world));
		name = fnv1a(name, &coordinated_salt, sizeof(coordinated_salt));
		file->page_name = (name | 1) & ~BOARD_PAIR;
	}
	coordinated_clock(file->page_name);
}

void coordinated_file_closed(struct vfile *file)
{
	if (file->comm != MPI_COMM_NULL)
		PMPI_Comm_free(&file->comm);
}

void files_called(unsigned index, const uint64_t *a)
{
	struct vfile *file;
	unsigned what;

	if (!what_is)
		what_is = needed(calloc(real_function_count, 1));
	if (what_is[index] == NOT_LEARNT)
		what_is[index] = (uint8_t)(real_functions[index].name ? learn(real_functions[index].name) : ALONE);
	what = what_is[index] & ~(unsigned)TURNS;
	if (index == RDB_File_close && a[0]) {
		file = file_of(rdb_id(RDB_FILE, *(void **)a[0]));
	} else if (what_is[index] != ALONE) {
		file = file_of(a[0]);
		file->splitting = what == BEGINS || (file->splitting && what != ENDS);
		file->turned |= (what_is[index] & TURNS) != 0;
	} else {
		return;
	}
	if (file->page_name && what != ENDS && (what != ALONE || index == RDB_File_close))
		coordinated_count(file->page_name);
}

struct vfile *file_after(const struct vfile *file)
{
	struct vfile *one, *next = NULL;

	EACH(RDB_FILE, one)
	{
		if (one->serial > (file ? file->serial : 0) && (!next || one->serial < next->serial))
			next = one;
	}
	return next;
}

bool files_quiet(void)
{
	for (const struct vfile *one = file_after(NULL); one; one = file_after(one))
		if (one->splitting)
			return false;
	return true;
}

const char *files_refuse(void)
{
	static char why[FILE_PATH + 64];
	unsigned written = 0;

	for (const struct vfile *one = file_after(NULL); one; one = file_after(one)) {
		if (one->amode & MPI_MODE_SEQUENTIAL) {
			snprintf(why, sizeof(why), "%s: it is open with MPI_MODE_SEQUENTIAL", one->path);
			return why;
		}
		written += one->first && one->writes;
	}
	return written > BOARD_FILES ? "it writes to too many MPI files" : NULL;
}

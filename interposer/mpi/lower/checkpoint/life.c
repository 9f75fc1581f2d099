/* The life of the real MPI: init, finalize, abort. */
#include "lower/core/requests.h"
#include "lower/checkpoint/coordinated.h"
#include "lower/windows/windows.h"
#include "lower/objects/worlds.h"

enum life life;

static int64_t started(int rc, const struct rdb_predef_table *upper)
{
	int level = MPI_THREAD_SINGLE;

	if (rc != MPI_SUCCESS)
		return rc;
	/* The stub handles errors, because the program's error handlers are upper code. */
	PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	worlds_begin();
	tables_predefine(upper);
	life = ALIVE;
	worlds_begun();
	PMPI_Query_thread(&level);
	coordinated_begin();
	if (level == MPI_THREAD_MULTIPLE)
		private_self(); /* made now: later its creation might wait for another thread's call */
	return rc;
}

/* argc, argv, predefined handles */
int64_t real_Init(const uint64_t *a)
{
	coordinated_mpi(BOARD_MPI_BEGINS);
	return started(BLOCKING(PMPI_Init(NULL, NULL)), (void *)a[2]);
}

/* argc, argv, required, provided, predefined handles */
int64_t real_Init_thread(const uint64_t *a)
{
	int required = (int)a[2], provided = MPI_THREAD_SINGLE;
	int64_t rc;

	coordinated_mpi(BOARD_MPI_BEGINS);
	rc = started(BLOCKING(PMPI_Init_thread(NULL, NULL, required, &provided)), (void *)a[4]);

	if (rc == MPI_SUCCESS)
		put((void *)a[3], &provided, sizeof(provided));
	return rc;
}

/* provided */
int64_t real_Query_thread(const uint64_t *a)
{
	int provided;
	int rc = PMPI_Query_thread(&provided);

	if (rc == MPI_SUCCESS)
		put((void *)a[0], &provided, sizeof(provided));
	return rc;
}

const char *life_again(int level, const struct rdb_predef_table *upper)
{
	int provided;

	if (PMPI_Init_thread(NULL, NULL, level, &provided) != MPI_SUCCESS || provided < level)
		return "this MPI does not provide the level of threads that the program had (MPI_Init_thread)";
	return started(MPI_SUCCESS, upper) == MPI_SUCCESS ? NULL : "MPI could not be started";
}

int64_t real_Finalize(const uint64_t *a __attribute__((unused)))
{
	int rc;

	exchanges_end();
	coordinated_end();
	freed_end();
	before_the_end();
	early_end();
	private_self_free();
	windows_end();
	rc = BLOCKING(PMPI_Finalize());
	if (rc == MPI_SUCCESS) {
		life = FINALIZED;
		after_the_end();
	}
	return rc;
}

#ifdef OPEN_MPI
/* Open MPI's own MPI_ERRORS_ARE_FATAL calls this: MPI_Abort without the page of advice. */
extern int ompi_mpi_abort(MPI_Comm comm, int code) __attribute__((weak));
#endif

/* comm, errorcode, and whether the stub has told the user why */
int64_t real_Abort(const uint64_t *a)
{
	MPI_Comm comm = comm_of(a[0])->o.real ? REAL(MPI_Comm, comm_of(a[0])->o.real) : MPI_COMM_WORLD;

	host->ending((int)a[1] & 0xff);
#ifdef OPEN_MPI
	if (a[2] && ompi_mpi_abort)
		return ompi_mpi_abort(comm, (int)a[1]);
#endif
	return PMPI_Abort(comm, (int)a[1]);
}

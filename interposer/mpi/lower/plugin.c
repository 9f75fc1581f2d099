/* The plug-in's face to the boundary, and the life of the real MPI: init, finalize, abort. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "large.h"
#include "ports.h"
#include "requests.h"
#include "together.h"
#include "restart.h"
#include "windows.h"
#include "worlds.h"

const struct rdb_host *host;
static enum { BEFORE_INIT, ALIVE, FINALIZED } state;
static MPI_Comm self = MPI_COMM_NULL;

MPI_Comm private_self(void)
{
	if (self == MPI_COMM_NULL)
		PMPI_Comm_dup(MPI_COMM_SELF, &self);
	return self;
}

static int64_t started(int rc, const struct rdb_predef_table *upper)
{
	int level = MPI_THREAD_SINGLE;

	if (rc != MPI_SUCCESS)
		return rc;
	/* The stub acts on errors: the program's handlers are upper code. */
	PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	worlds_begin();
	tables_predefine(upper);
	state = ALIVE;
	worlds_begun();
	PMPI_Query_thread(&level);
	together_begin();
	if (level == MPI_THREAD_MULTIPLE)
		private_self(); /* later it might have to wait for a communicator that another thread makes */
	return rc;
}

/* argc, argv, predefined handles */
int64_t real_Init(const uint64_t *a)
{
	together_mpi(BOARD_MPI_BEGINS);
	return started(BLOCKING(PMPI_Init(NULL, NULL)), (void *)a[2]);
}

/* argc, argv, required, provided, predefined handles */
int64_t real_Init_thread(const uint64_t *a)
{
	int required = (int)a[2], provided = MPI_THREAD_SINGLE;
	int64_t rc;

	together_mpi(BOARD_MPI_BEGINS);
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

/* A restart: as after the MPI_Init that the program has called. */
const char *plugin_alive(int level, const struct rdb_predef_table *upper)
{
	int provided;

	if (PMPI_Init_thread(NULL, NULL, level, &provided) != MPI_SUCCESS || provided < level)
		return "this MPI cannot be started with the level of threads that it had";
	return started(MPI_SUCCESS, upper) == MPI_SUCCESS ? NULL : "MPI could not be started";
}

int64_t real_Finalize(const uint64_t *a __attribute__((unused)))
{
	int rc;

	exchanges_end();
	together_end();
	before_the_end();
	early_end();
	if (self != MPI_COMM_NULL)
		PMPI_Comm_free(&self);
	windows_end();
	rc = BLOCKING(PMPI_Finalize());
	if (rc == MPI_SUCCESS) {
		state = FINALIZED;
		after_the_end();
	}
	return rc;
}

#ifdef OPEN_MPI
/* What its own MPI_ERRORS_ARE_FATAL calls: MPI_Abort without the page of advice. */
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

static int64_t bits(double value)
{
	int64_t result;

	memcpy(&result, &value, sizeof(result));
	return result;
}

int64_t real_Wtime(const uint64_t *a __attribute__((unused)))
{
	return bits(PMPI_Wtime());
}
int64_t real_Wtick(const uint64_t *a __attribute__((unused)))
{
	return bits(PMPI_Wtick());
}

/* What Open MPI does when it is called too early or too late. */
static void out_of_order(const char *name)
{
	dprintf(STDERR_FILENO,
		"*** The %s() function was called %s was invoked.\n"
		"*** This is disallowed by the MPI standard.\n"
		"*** Your MPI job will now abort.\n",
		name, state == BEFORE_INIT ? "before MPI_INIT" : "after MPI_FINALIZE");
	host->ending(1);
	_exit(1);
}

static bool any_time(unsigned index)
{
	return index == RDB_Init || index == RDB_Init_thread || index == RDB_Get_library_version ||
	       index == RDB_Error_class || index == RDB_Error_string ||
	       !strncmp(real_functions[index].name, "MPI_T_", 6);
}

static int64_t invoke(unsigned index, uint32_t nargs __attribute__((unused)), const uint64_t *args)
{
#ifdef OPEN_MPI
	return real_functions[index].call(args);
#else
	return translated_call(index, real_functions[index].call, nargs, args);
#endif
}

static int64_t invoke_part(unsigned index, const uint64_t *args)
{
	return invoke(index, index == RDB_Sendrecv ? 12 : index == RDB_Sendrecv_replace ? 9 : 1, args);
}

static int64_t plugin_call(uint32_t fn, uint32_t nargs, const uint64_t *args)
{
	unsigned index = fn & 0xffff;
	const struct real_function *function;
	uint64_t large[TRANSLATION_ARGUMENTS], changed[INSIDE_ARGUMENTS];
	const uint64_t *given;
	bool covered = false;
	int64_t result;

	if (index == RDB_INTERNAL_SYMBOL)
		host->fatal("%s is not supported yet: it is internal to the MPI library", (const char *)args[0]);
	if (index == RDB_ABSENT_FUNCTION)
		host->fatal("%s: the MPI library that the program runs with does not have it", (const char *)args[0]);
	if (index >= real_function_count)
		host->fatal("MPI function number %u: the stub and the MPI plug-in differ", index);
	function = &real_functions[index];
	if (!function->call)
		host->fatal("%s is not supported yet", function->name);
	if (__builtin_expect(state != ALIVE && !any_time(index), 0))
		out_of_order(function->name);
	if (function->sent && host->recording())
		function->sent(args);
	if (__builtin_expect(large_call(index, args), 0))
		args = large_arguments(index, nargs, args, large);
	if (__builtin_expect(restart_later, 0))
		restart_go_on();
	if (__builtin_expect(partitioned_watched, 0))
		partitioned_before(index);
	if (windows_there)
		windows_before(index);
	given = together_on ? together_before(index, args, changed) : args;
	if (__builtin_expect(ports_renamed, 0))
		given = ports_given(index, given, changed);
	if (host->order)
		covered = order_call(index, nargs, args);
	if (!(__builtin_expect(drained_any, 0) && drained_call(index, args, invoke_part, &result)) &&
	    !(__builtin_expect(windows_any_closed, 0) && windows_closed(index, args, &result)))
		result = invoke(index, nargs, given);
	if (__builtin_expect(ports_renamed, 0))
		ports_told(index, args, result);
	if (host->order)
		order_end(covered);
	if (together_on)
		together_after(index, args, result);
	/* last: what they bring must not be in memory yet when an operation of the program is called */
	if (state == ALIVE && !pending_operations)
		requests_poll_orphans();
	if (state == ALIVE && !pending_operations)
		early_after(index);
	if (windows_there && result == MPI_SUCCESS && (index == RDB_Win_post || index == RDB_Win_start))
		window_epoch(index == RDB_Win_post ? "post" : "start", args);
	if (windows_there)
		windows_after(index);
	return result;
}

static int plugin_init(const struct rdb_host *given)
{
	if (given->version != RDB_HOST_VERSION)
		return -EPROTO;
	host = given;
	tables_init();
	return 0;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

__attribute__((visibility("default"))) struct rdb_plugin rdb_plugin = {
	.version = RDB_HOST_VERSION,
#ifdef OPEN_MPI
	.name = "openmpi-" TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION),
#elif defined MPICH_VERSION
	.name = "mpich-" MPICH_VERSION,
#else
	.name = "mpi-" TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION),
#endif
	.init = plugin_init,
	.call = plugin_call,
	.restart = plugin_restart,
	.expand = plugin_expand,
	.together = &together_calls,
};

void progress_begin(void)
{
	rdb_plugin.progress = windows_progress;
}

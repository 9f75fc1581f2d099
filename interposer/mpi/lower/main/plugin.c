/* The plug-in's interface to the boundary. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#include "lower/core/drained.h"
#include "lower/files/files.h"
#include "lower/objects/large.h"
#include "lower/order/order_expand.h"
#include "lower/restart/ports.h"
#include "lower/core/requests.h"
#include "lower/checkpoint/coordinated.h"
#include "lower/restart/restart.h"
#include "lower/windows/windows.h"
#include "lower/objects/worlds.h"

/* Same behaviour as Open MPI if a function is called before MPI_Init or after MPI_Finalize. */
static void out_of_order(const char *name)
{
	dprintf(STDERR_FILENO,
		"*** The %s() function was called %s was invoked.\n"
		"*** This is disallowed by the MPI standard.\n"
		"*** Your MPI job will now abort.\n",
		name, life == BEFORE_INIT ? "before MPI_INIT" : "after MPI_FINALIZE");
	host->ending(1);
	_exit(1);
}

/* Objects of MPI_Info_create may be used after MPI_Finalize, too (MPI-4.0, 11.4.1); Open MPI 4.1 refuses that. */
static bool after_end(unsigned index)
{
#ifdef OPEN_MPI
	(void)index;
	return false;
#else
	return life != BEFORE_INIT && !strncmp(real_functions[index].name, "MPI_Info_", 9);
#endif
}

static bool any_time(unsigned index)
{
	return after_end(index) || index == RDB_Init || index == RDB_Init_thread || index == RDB_Get_version ||
	       index == RDB_Get_library_version || index == RDB_Error_class || index == RDB_Error_string ||
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
	uint64_t large[TRANSLATION_ARGUMENTS], changed[TRANSLATION_ARGUMENTS];
	const uint64_t *given;
	bool covered = false;
	int64_t result;

	if (index == RDB_UNSUPPORTED)
		host->fatal("%s", (const char *)args[0]);
	if (index >= real_function_count)
		host->fatal("MPI function number %u: rdb's MPI stub and MPI plug-in are of different versions", index);
	function = &real_functions[index];
	if (!function->call)
		host->fatal("%s is not supported yet", function->name);
	if (__builtin_expect(life != ALIVE && !any_time(index), 0))
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
	given = observer ? coordinated_before(index, nargs, args, changed) : args;
	if (__builtin_expect(ports_renamed, 0))
		given = ports_given(index, nargs, given, changed);
	if (host->order)
		covered = order_call(index, nargs, args);
	if (!(__builtin_expect(drained_any, 0) && drained_call(index, args, invoke_part, &result)) &&
	    !(__builtin_expect(windows_any_closed, 0) && windows_closed(index, args, &result)))
		result = invoke(index, nargs, given);
	if (__builtin_expect(ports_renamed, 0))
		ports_told(index, args, result);
	if (host->order)
		order_end(covered);
	if (observer)
		coordinated_after(index, args, result);
	/* at the end: their data must not be in memory yet when an operation of the program is called */
	if (life == ALIVE && !pending_operations)
		requests_poll_orphans();
	if (life == ALIVE && !pending_operations)
		early_after(index);
	if (windows_there && result == MPI_SUCCESS && (index == RDB_Win_post || index == RDB_Win_start))
		window_epoch(index == RDB_Win_post ? "post" : "start", args);
	if (windows_there)
		windows_after(index);
	return result;
}

extern struct rdb_plugin rdb_plugin;

/* Free memory that the heap keeps at its end, in bytes: enough for 64 messages of 4 MiB that are kept apart.  The first
 * write to a page costs far more than a copy. */
enum { HEAP_KEEPS = 288 << 20 };

static const struct object_class classes[RDB_CLASSES] = {
	[RDB_COMM] = {sizeof(struct vcomm), comm_release},          [RDB_TYPE] = {sizeof(struct vtype), type_release},
	[RDB_REQUEST] = {sizeof(struct vreq), request_release},     [RDB_OP] = {sizeof(struct vop), op_release},
	[RDB_WIN] = {sizeof(struct vwin), window_release},          [RDB_FILE] = {sizeof(struct vfile), file_release},
	[RDB_MESSAGE] = {sizeof(struct vmessage), message_release},
};

static int plugin_init(const struct rdb_host *given)
{
	if (given->version != RDB_HOST_VERSION)
		return -EPROTO;
	host = given;
	own_plugin = &rdb_plugin;
	/* without success it is only slower */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, HEAP_KEEPS);
	real_tables_set();
	tables_init(classes);
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
	.coordinated = &coordinated_calls,
	.clock_index = RDB_Wtime,
};

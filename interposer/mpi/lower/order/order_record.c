/* Recording with --record=order: finds out which bytes a whole-job replay makes again (order_expand.c), so that the log
 * holds only their hash; and refuses calls that it cannot make again. */
#include <pthread.h>
#include "lower/order/order_expand.h"

enum { FUNCTIONS = 1024 };

static bool listed(const char *names, const char *name)
{
	char word[128];

	procedure_word(name, word, sizeof(word));
	return strstr(names, word) != NULL;
}

bool order_collective(const char *name)
{
	return listed(" Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
		      " Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Neighbor_allgather"
		      " Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw"
		      " Reduce_local Pack Unpack Pack_external Unpack_external ",
		      name);
}

static bool receives(const char *name)
{
	return listed(" Recv Mrecv Sendrecv Sendrecv_replace ", name);
}

static bool joins_processes(const char *name)
{
	return listed(" Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_join ", name);
}

bool order_own_operation(unsigned index, uint32_t nargs, const uint64_t *a)
{
	const char *handles = real_functions[index].handles;

	for (unsigned i = 0; handles[i] && i < nargs; i++)
		if (handles[i] == 'o' && a[i] >= RDB_FIRST_DYNAMIC)
			return true;
	return false;
}

enum what { UNKNOWN_YET, COVERED, COVERED_WITHOUT_OPERATION, JOINS, OTHER };

static enum what what_is(unsigned index)
{
	static unsigned char known[FUNCTIONS];
	const char *name = real_functions[index].name;

	if (index >= FUNCTIONS)
		host->fatal("%s: --record=order has no room for another MPI function", name);
	if (!known[index])
		known[index] = receives(name)           ? COVERED
			       : order_collective(name) ? COVERED_WITHOUT_OPERATION
			       : joins_processes(name)  ? JOINS
							: OTHER;
	return known[index];
}

/* The thread that is in MPI.  If several threads were, the order of their calls would not be that of the answers. */
static struct {
	pthread_t thread;
	unsigned depth; /* callbacks call again */
} inside;

void order_end(bool before)
{
	inside.depth--;
	order_begin(before);
}

bool order_call(unsigned index, uint32_t nargs, const uint64_t *a)
{
	bool now = false;

	if (inside.depth && !pthread_equal(inside.thread, pthread_self()))
		host->fatal("--record=order: several threads call MPI at the same time (%s), and their messages "
			    "cannot be regenerated; use --record=full",
			    real_functions[index].name);
	inside.thread = pthread_self();
	inside.depth++;
	switch (what_is(index)) {
	case COVERED: now = true; break;
	case COVERED_WITHOUT_OPERATION: now = !order_own_operation(index, nargs, a); break;
	case JOINS:
		host->fatal("--record=order: messages to processes that join the job cannot be regenerated (%s); use "
			    "--record=full",
			    real_functions[index].name);
	default: break;
	}
	return order_begin(now);
}

/* Variables and functions that the files of the real side share. */
#include "lower/objects/real.h"
#include "lower/objects/observer.h"

const struct rdb_host *host;
struct rdb_plugin *own_plugin;
const struct observer *observer;
const struct real_function *real_functions;
unsigned real_function_count;
const struct predefined_handle *predefined_handles;
unsigned predefined_handle_count;
unsigned pending_operations;

static MPI_Comm self = MPI_COMM_NULL;

MPI_Comm private_self(void)
{
	if (self == MPI_COMM_NULL)
		PMPI_Comm_dup(MPI_COMM_SELF, &self);
	return self;
}

void private_self_free(void)
{
	if (self != MPI_COMM_NULL)
		PMPI_Comm_free(&self);
}

static bool covered; /* a whole-job replay makes the bytes of the current call again */

bool order_begin(bool now)
{
	bool before = covered;

	covered = now;
	return before;
}

void order_out(void *upper, size_t len)
{
	if (covered)
		host->payload(upper, len);
	else
		host->out(upper, len);
}

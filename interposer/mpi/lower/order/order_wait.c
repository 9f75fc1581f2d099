/* A whole-job replay waits by polling and counts its looks: a message that was sent arrives within some thousand looks,
 * however slow the machine is. */
#include <sched.h>
#include <time.h>
#include "lower/order/order_expand.h"

enum { EAGER = 1000 }; /* looks before it sleeps between them */

static void rest(unsigned looks)
{
	static const struct timespec a_little = {.tv_nsec = 100000};

	if (looks < EAGER)
		sched_yield();
	else
		nanosleep(&a_little, NULL);
}

int order_wait_until(int (*look)(void *, int *), void *arg, enum rdb_wait what, int peer, int tag)
{
	int flag = 0, rc = look(arg, &flag);

	if (flag || rc != MPI_SUCCESS)
		return rc;
	host->waits(what, peer, tag);
	for (unsigned looks = 0; !flag && rc == MPI_SUCCESS; looks++) {
		rest(looks);
		if (looks % EAGER == EAGER - 1)
			order_pending_look();
		rc = look(arg, &flag);
		host->looked();
	}
	host->waits(RDB_WAIT_NOTHING, 0, 0);
	return rc;
}

struct completed {
	MPI_Request *real;
	MPI_Status *status;
};

static int is_complete(void *arg, int *flag)
{
	const struct completed *one = arg;

	return PMPI_Test(one->real, flag, one->status);
}

int order_wait(MPI_Request *real, MPI_Status *status, enum rdb_wait what, int peer, int tag)
{
	struct completed one = {real, status};

	return order_wait_until(is_complete, &one, what, peer, tag);
}

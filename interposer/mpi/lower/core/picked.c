/* `rdb run --chaos`: which of the messages that have come a receive from MPI_ANY_SOURCE gets.  MPI promises no order
 * between senders (MPI-4.0, 3.5). */
#include "lower/objects/real.h"

enum { TAG_ALWAYS = 32767 }; /* the least that MPI_TAG_UB may be (MPI-4.0, 9.1.2) */

static int senders(MPI_Comm comm)
{
	int inter = 0, n = 0;

	if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
		return 0;
	return (inter ? PMPI_Comm_remote_size(comm, &n) : PMPI_Comm_size(comm, &n)) == MPI_SUCCESS ? n : 0;
}

/* Not while other threads run: one of them could take the message before this one receives it. */
int picked_source(int source, int tag, const struct vcomm *comm)
{
	const MPI_Comm real = REAL(MPI_Comm, comm->o.real);

	if (!host->pick || source != MPI_ANY_SOURCE || (tag != MPI_ANY_TAG && (tag < 0 || tag > TAG_ALWAYS)) ||
	    real == MPI_COMM_NULL || apart())
		return source;

	const int n = senders(real), first = n ? (int)host->pick((uint64_t)n) : 0;

	/* Open MPI looks first and takes in what has come afterwards. */
	for (int i = 0; i < 2 * n; i++) {
		const int from = (first + i) % n;
		int flag = 0;

		if (PMPI_Iprobe(from, tag, real, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && i >= n)
			return from;
	}
	return source;
}

/* What a receive, a nonblocking collective or a read has brought before the program completes it.
 *
 * The real MPI writes to memory of its own (requests.c, pending.c, inflight.c), and the program's buffer is written at the call that completes the
 * request.  A program may look into the buffer before, because a barrier told it that the message is there, or never
 * complete the request at all.  MPI forbids the first (MPI-4.0, 3.7.2), and without rdb it works.  So what is
 * complete reaches the program earlier, at calls that make MPI go on: at once at those that all ranks make together, and
 * at others the more seldom the longer nothing has come.  The bytes are a part of that event; that the message was
 * received is noted at the call that completes it, or at MPI_Finalize. */
#include "inflight.h"
#include "pending.h"
#include "requests.h"
#include "status.h"
#include "together.h"

enum {
	LOOKED_AT_ONCE = 4096, /* slots of the table of requests, at calls of all ranks */
	LOOKED_SELDOM = 64,    /* at others */
	ASKED_SELDOM = 4,      /* receives */
	SELDOM = 256,          /* calls between two looks, at most */
};

static struct {
	uint32_t cursor; /* where the next look goes on in the table */
	unsigned calls, gap;
} look = {.gap = 1};

static bool of_all_ranks(unsigned index)
{
	switch (index) {
	case RDB_Barrier:
	case RDB_Bcast:
	case RDB_Gather:
	case RDB_Gatherv:
	case RDB_Scatter:
	case RDB_Scatterv:
	case RDB_Allgather:
	case RDB_Allgatherv:
	case RDB_Alltoall:
	case RDB_Alltoallv:
	case RDB_Alltoallw:
	case RDB_Reduce:
	case RDB_Allreduce:
	case RDB_Reduce_scatter:
	case RDB_Reduce_scatter_block:
	case RDB_Scan:
	case RDB_Exscan:
	case RDB_Win_fence:
	case RDB_Win_wait: return true;
	default: return false;
	}
}

static bool goes_on(unsigned index)
{
	switch (index) {
	case RDB_Send:
	case RDB_Ssend:
	case RDB_Recv:
	case RDB_Mrecv:
	case RDB_Sendrecv:
	case RDB_Sendrecv_replace:
	case RDB_Probe:
	case RDB_Mprobe:
	case RDB_Iprobe:
	case RDB_Improbe:
	case RDB_Test:
	case RDB_Testall:
	case RDB_Testany:
	case RDB_Testsome:
	case RDB_Request_get_status:
	case RDB_Wait:
	case RDB_Waitall:
	case RDB_Waitany:
	case RDB_Waitsome: return true;
	default: return false;
	}
}

/* A receive, a nonblocking collective or a read that has more to bring. */
static bool looked_for(const struct vreq *request)
{
	const bool brings = request->receive || (request->pending && pending_brings(request->pending)) ||
			    (request->inflight && !request->inflight->delivered);

	return brings && request->active && request->o.real && !request->delivered && !request->blocking &&
	       !request->waiting && !request->instead;
}

/* A persistent one that was asked is inactive for MPICH 4.2 from then on: who waits for it gets an empty status.  A request that is
 * complete from the beginning stands for it until then. */
bool request_ended(struct vreq *request, MPI_Status *status)
{
	MPI_Request real = REAL(MPI_Request, request->o.real);
	int flag = 0;

	if (PMPI_Request_get_status(real, &flag, status) != MPI_SUCCESS || !flag)
		return false;
#ifndef OPEN_MPI
	if (request->persistent && !request->partitioned && !request->kept && !request->instead) {
		if (PMPI_Wait(&real, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
		    request_done(status->MPI_SOURCE, status->MPI_TAG, status_bytes(status), status_cancelled(status),
				 &real) != MPI_SUCCESS)
			host->fatal("a request for a message that has come could not be made");
		request->kept = request->o.real;
		request->o.real = BITS(real);
	}
#endif
	return true;
}

/* Is it complete?  Then its bytes are in the program's memory. */
static bool brought(struct vreq *request, bool note)
{
	MPI_Status status = status_empty;

	if (!request_ended(request, &status))
		return false;
	if (note || !request->receive || request->pending)
		request_peek(request, &status);
	else
		request_early(request, &status);
	if (note || !request->receive || request->pending)
		request->early = !note;
	return true;
}

static bool look_at(uint32_t slots, unsigned most)
{
	const uint32_t used = tables[RDB_REQUEST].next - RDB_FIRST_DYNAMIC;
	bool found = false;

	for (uint32_t i = 0; i < used && i < slots && most; i++) {
		uint32_t id = RDB_FIRST_DYNAMIC + look.cursor++ % used;
		struct vreq *request = request_of(id);

		if (request->o.id != id || request->early || !looked_for(request))
			continue;
		most--;
		found |= brought(request, false);
	}
	return found;
}

void early_after(unsigned index)
{
	const struct table *table = &tables[RDB_REQUEST];

	/* --record=order makes the payloads again where the program completes them */
	if (table->next - RDB_FIRST_DYNAMIC == table->free_count || host->order)
		return;
	if (of_all_ranks(index)) {
		look_at(LOOKED_AT_ONCE, LOOKED_AT_ONCE);
		look.calls = 0;
		look.gap = 1;
	} else if (goes_on(index) && ++look.calls >= look.gap) {
		look.calls = 0;
		if (look_at(LOOKED_SELDOM, ASKED_SELDOM))
			look.gap = 1;
		else
			look.gap = look.gap < SELDOM ? 2 * look.gap : SELDOM;
	}
}

static unsigned end_once(void)
{
	unsigned unwaited = 0;
	MPI_Status status = status_empty;

	for (uint32_t id = RDB_FIRST_DYNAMIC; id < tables[RDB_REQUEST].next; id++) {
		struct vreq *request = request_of(id);

		if (request->o.id != id)
			continue;
		if (request->active && request->early &&
		    !looked_for(request)) { /* it has all, and was not asked again */
			request->early = false;
			unwaited++;
		} else if (looked_for(request)) {
			unwaited += host->order ? request_ended(request, &status) : brought(request, true);
		}
	}
	return unwaited;
}

void early_end(void)
{
	unsigned unwaited = 0, found;

	do { /* each look makes MPI go on */
		found = end_once();
		unwaited += found;
	} while (found && !host->order);
	if (unwaited)
		host->warn("rank %d: MPI_Finalize, and %u request%s brought %s data and %s never completed (MPI_Wait, "
			   "MPI_Test): the program %s",
			   host->rank, unwaited, unwaited > 1 ? "s have" : " has", unwaited > 1 ? "their" : "its",
			   unwaited > 1 ? "were" : "was",
			   host->order ? "has not seen the data, which without --record=order it would have"
				       : "may have seen the data later than without rdb");
}

/* Delivers data of receives, nonblocking collectives and reads before the program completes the request.
 *
 * The real MPI writes to lower memory (requests.c, pending.c, staged_read.c); the call that completes the request
 * copies the data to the program's buffer.  A program may look into the buffer before, because a barrier told it that
 * the message has arrived, or may never complete the request.  MPI forbids the first (MPI-4.0, 3.7.2), but without rdb
 * it works.  So data of complete requests is delivered earlier, at calls that let MPI make progress: at each collective
 * call, and at other calls less and less often while nothing arrives.  The bytes are a part of that event; the message
 * is noted as received at the call that completes the request, or at MPI_Finalize. */
#include "lower/objects/staged_read.h"
#include "lower/objects/pending.h"
#include "lower/core/requests.h"
#include "lower/objects/status.h"

enum {
	LOOKED_AT_ONCE = 4096, /* slots of the table of requests that a collective call looks at */
	LOOKED_SELDOM = 64,    /* slots that another call looks at */
	ASKED_SELDOM = 4,      /* requests that another call tests */
	SELDOM = 256,          /* at most so many calls between two looks */
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

/* A receive, a nonblocking collective or a read whose data has not been delivered. */
static bool looked_for(const struct vreq *request)
{
	const bool brings = request->shadow || (request->pending && pending_brings(request->pending)) ||
			    (request->staged_read && !request->staged_read->delivered);

	return brings && request->active && request->o.real && !request->delivered && !request->blocking &&
	       !request->waiting && !request->instead;
}

/* MPICH 4.2 makes a persistent request inactive when it is asked, and a later wait gets an empty status.  So a request
 * that is complete from the beginning takes its place until the program completes it.  A request that has not been
 * started has not ended, though MPI says so (MPI-4.0, 3.7.6). */
bool request_ended(struct vreq *request, MPI_Status *status)
{
	MPI_Request real = REAL(MPI_Request, request->o.real);
	int flag = 0, rc = request->active ? PMPI_Request_get_status(real, &flag, status) : MPI_SUCCESS;

	if (!has_come(rc) || !flag)
		return false;
	status->MPI_ERROR = rc;
	if (request->receive && status_bytes(status) > request->room) /* Open MPI does not say so here */
		status->MPI_ERROR = MPI_ERR_TRUNCATE;
#ifndef OPEN_MPI
	if (request->persistent && !request->partitioned && !request->kept && !request->instead) {
		rc = PMPI_Wait(&real, MPI_STATUS_IGNORE);
		if (!has_come(rc) || request_done(status->MPI_SOURCE, status->MPI_TAG, status_bytes(status),
						  status_cancelled(status), rc, &real) != MPI_SUCCESS)
			host->fatal("no request could be made for a message that has arrived");
		request->kept = request->o.real;
		request->o.real = BITS(real);
		if (request->waiting)
			*request->waiting = real;
	}
#endif
	return true;
}

/* Delivers the data of a request if it is complete; returns whether it is.  note: as if the program completed it. */
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

	/* with --record=order, payloads are made again at the call that completes the request */
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
		    !looked_for(request)) { /* all its data was delivered early, and the program never completed it */
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

	do { /* each look lets MPI make progress */
		found = end_once();
		unwaited += found;
	} while (found && !host->order);
	if (unwaited)
		host->warn("rank %d calls MPI_Finalize, though %u request%s received %s data and %s never completed "
			   "(MPI_Wait, MPI_Test): the program %s",
			   host->rank, unwaited, unwaited > 1 ? "s have" : " has", unwaited > 1 ? "their" : "its",
			   unwaited > 1 ? "were" : "was",
			   host->order ? "has not seen the data, which without --record=order it would have"
				       : "may have seen the data later than without rdb");
}

/* Receives with a wildcard that are not complete in the log.  They got nothing, or a message that the program did not
 * look at before the end.  They are not posted again, since they could get another message than they had.  Their
 * messages are those that no other receive gets: one that arrives where the log has another one, or one for which the
 * log has no receive. */
#include "lower/order/order_expand.h"

struct unknown {
	struct unknown *next;
	uint64_t order;
	int source, tag, count;
	struct vtype *type;
	struct vcomm *comm;
};

static struct unknown *pending; /* in the order of posting: MPI gives a message to the first receive that matches */

void order_pending_add(uint64_t number, int count, struct vtype *type, int source, int tag, struct vcomm *comm)
{
	struct unknown *one = needed(calloc(1, sizeof(*one))), **last = &pending;

	*one = (struct unknown){NULL, number, source, tag, count, object_hold(type), object_hold(comm)};
	while (*last)
		last = &(*last)->next;
	*last = one;
}

static void had_its_message(struct unknown **at)
{
	struct unknown *one = *at;

	*at = one->next;
	object_release(&one->type->o);
	object_release(&one->comm->o);
	free(one);
}

/* The receive that gets such a message, if it was posted before receive `number`; NULL: none. */
static struct unknown **taker(uint64_t number, int source, int tag, const struct vcomm *comm)
{
	for (struct unknown **at = &pending; *at; at = &(*at)->next)
		if ((*at)->order < number && (*at)->comm == comm &&
		    ((*at)->source == MPI_ANY_SOURCE || (*at)->source == source) &&
		    ((*at)->tag == MPI_ANY_TAG || (*at)->tag == tag))
			return at;
	return NULL;
}

bool order_pending_before(uint64_t number, int source, int tag, const struct vcomm *comm)
{
	return taker(number, source, tag, comm) != NULL;
}

bool order_pending_took(uint64_t number, int source, int tag, const struct vcomm *comm)
{
	struct unknown **at = taker(number, source, tag, comm);

	if (at)
		had_its_message(at);
	return at != NULL;
}

/* Receives a message for this receive that no later receive gets; its sender may wait for it. */
static bool taken(const struct unknown *one)
{
	MPI_Comm comm = REAL(MPI_Comm, one->comm->o.real);
	MPI_Message message;
	MPI_Status status;
	int flag = 0, bytes = 0;
	void *room;

	if (PMPI_Iprobe(one->source, one->tag, comm, &flag, &status) != MPI_SUCCESS || !flag)
		return false;
	/* a receive posted before gets it: the message arrived after that one was checked */
	if (taker(one->order, status.MPI_SOURCE, status.MPI_TAG, one->comm))
		return false;
	if (order_deferred(status.MPI_SOURCE, status.MPI_TAG, one->comm) ||
	    host->comes(order_posted(), comm_world_rank(one->comm, status.MPI_SOURCE), status.MPI_TAG, one->comm->o.id))
		return false;
	if (PMPI_Improbe(status.MPI_SOURCE, status.MPI_TAG, comm, &flag, &message, &status) != MPI_SUCCESS || !flag)
		return false;
	PMPI_Get_count(&status, MPI_BYTE, &bytes);
	room = needed(malloc(bytes > 0 ? (size_t)bytes : 1));
	PMPI_Mrecv(room, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
	free(room);
	return true;
}

void order_pending_look(void)
{
	for (struct unknown **at = &pending; *at;)
		if (taken(*at))
			had_its_message(at);
		else
			at = &(*at)->next;
}

/* Posts them after all; they get messages that still arrive and are never waited for. */
void order_pending_end(void)
{
	while (pending) {
		int bytes = (int)(pending->count * pending->type->size);
		void *room = needed(malloc((size_t)bytes + 1));
		MPI_Request real;

		PMPI_Irecv(room, bytes, MPI_BYTE, pending->source, pending->tag, REAL(MPI_Comm, pending->comm->o.real),
			   &real);
		had_its_message(&pending);
	}
}

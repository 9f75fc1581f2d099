/* Receives with a wildcard of which the recording does not say what came: it may be nothing, or a message that nobody
 * asked for before the end.  They are not posted again, since they could take another message than they had.  What they
 * had is what no other receive gets: a message that comes where the log has another one, or for which it has no receive
 * at all. */
#include "order_expand.h"

struct unknown {
	struct unknown *next;
	uint64_t order;
	int source, tag, count;
	struct vtype *type;
	struct vcomm *comm;
};

static struct unknown *pending; /* as they were posted: MPI gives a message to the first that it fits */

void order_pending_add(uint64_t number, int count, struct vtype *type, int source, int tag, struct vcomm *comm)
{
	struct unknown *one = calloc(1, sizeof(*one)), **last = &pending;

	if (!one)
		host->fatal("out of memory in the MPI boundary");
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

/* Whose the message is, if one posted before the `number`-th receive could take it. */
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

/* Takes a message from the network that no later receive gets; its sender may wait for that. */
static bool taken(const struct unknown *one)
{
	MPI_Comm comm = REAL(MPI_Comm, one->comm->o.real);
	MPI_Message message;
	MPI_Status status;
	int flag = 0, bytes = 0;
	void *room;

	if (PMPI_Iprobe(one->source, one->tag, comm, &flag, &status) != MPI_SUCCESS || !flag)
		return false;
	/* one that was posted before has it: the message came after that one had been looked at */
	if (taker(one->order, status.MPI_SOURCE, status.MPI_TAG, one->comm))
		return false;
	if (order_deferred(status.MPI_SOURCE, status.MPI_TAG, one->comm) ||
	    host->comes(order_posted(), comm_world_rank(one->comm, status.MPI_SOURCE), status.MPI_TAG, one->comm->o.id))
		return false;
	if (PMPI_Improbe(status.MPI_SOURCE, status.MPI_TAG, comm, &flag, &message, &status) != MPI_SUCCESS || !flag)
		return false;
	PMPI_Get_count(&status, MPI_BYTE, &bytes);
	room = malloc(bytes > 0 ? (size_t)bytes : 1);
	if (!room)
		host->fatal("out of memory for a message of %d bytes", bytes);
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

/* Nobody waits for them: they may take what comes as long as MPI goes on. */
void order_pending_end(void)
{
	while (pending) {
		int bytes = (int)(pending->count * pending->type->size);
		void *room = malloc((size_t)bytes + 1);
		MPI_Request real;

		if (!room)
			host->fatal("out of memory for a receive of %d bytes", bytes);
		PMPI_Irecv(room, bytes, MPI_BYTE, pending->source, pending->tag, REAL(MPI_Comm, pending->comm->o.real),
			   &real);
		had_its_message(&pending);
	}
}

/* A whole-job replay: messages leave and arrive as in the recording.  Wildcards are what the log says came: messages of
 * one sender with one tag do not overtake each other, so each receive gets the message that it had. */
#include <stdio.h>
#include "order_expand.h"

enum {
	COPIED = 64 << 10, /* bytes; longer ones leave from the program's buffer, and are waited for as it waited */
	REAPED = 32,
	BUCKETS = 1024
};

struct sending {
	struct sending *next;
	MPI_Request real;
	uint32_t id; /* of the program's request, if that has to be waited for */
	void *copy;
};

struct arriving {
	struct arriving *next;
	uint64_t order;
	struct vreq *request; /* NULL: a matched message that no call has asked for yet */
	MPI_Request real;
	MPI_Message message;
	struct vcomm *comm;
};

unsigned order_sends_waited_for;

static struct {
	struct sending *sends;
	unsigned nsends;
	uint64_t posted;
	struct arriving *buckets[BUCKETS];
} order;

static const char *refuse(const char *what)
{
	static char why[256];

	snprintf(why, sizeof(why), "%s", what);
	return why;
}

/* ---- sends ---- */

static void gone(struct sending **at)
{
	struct sending *one = *at;

	*at = one->next;
	order.nsends--;
	order_sends_waited_for -= one->id != 0;
	free(one->copy);
	free(one);
}

static void reap(void)
{
	for (struct sending **at = &order.sends; *at;) {
		int flag = 0;

		if ((*at)->id || PMPI_Test(&(*at)->real, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || !flag)
			at = &(*at)->next;
		else
			gone(at);
	}
}

static void wait_for(struct sending **at)
{
	PMPI_Wait(&(*at)->real, MPI_STATUS_IGNORE);
	gone(at);
}

void order_sent(uint32_t id)
{
	for (struct sending **at = &order.sends; *at; at = &(*at)->next) {
		if ((*at)->id != id)
			continue;
		wait_for(at);
		return;
	}
}

void order_drain(void)
{
	while (order.sends)
		wait_for(&order.sends);
}

static const char *copied(struct sending *one, const void **buf, int *count, MPI_Datatype *type, const struct vtype *of,
			  MPI_Comm comm)
{
	int room = 0, packed = 0;

	if (of->dense)
		room = (int)(*count * of->size);
	else
		PMPI_Pack_size(*count, *type, comm, &room);
	one->copy = malloc((size_t)room + 1);
	if (!one->copy)
		return refuse("no memory for a message");
	if (of->dense) {
		memcpy(one->copy, *buf, room);
	} else {
		if (PMPI_Pack(*buf, *count, *type, one->copy, room, &packed, comm) != MPI_SUCCESS)
			return refuse("a message could not be packed");
		*type = MPI_PACKED;
		*count = packed;
	}
	*buf = one->copy;
	return NULL;
}

const char *order_send(const void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm, bool copy,
		       uint32_t id)
{
	MPI_Comm real_comm = REAL(MPI_Comm, comm->o.real);
	MPI_Datatype real_type = REAL(MPI_Datatype, type->o.real);
	struct sending *one;
	const char *why = NULL;

	if (dest == MPI_PROC_NULL)
		return NULL;
	if (order.nsends >= REAPED)
		reap();
	one = calloc(1, sizeof(*one));
	if (!one)
		return refuse("no memory for a message");
	if (copy || count * type->size <= COPIED)
		why = copied(one, &buf, &count, &real_type, type, real_comm);
	if (why && (!copy || id)) { /* MPICH packs nothing with absolute addresses */
		why = NULL;
		free(one->copy);
		one->copy = NULL;
	}
	if (!one->copy && id) {
		one->id = id;
		order_sends_waited_for++;
	}
	if (!why && PMPI_Isend(buf, count, real_type, dest, tag, real_comm, &one->real) != MPI_SUCCESS)
		why = refuse("a message that left while it was recorded cannot leave now");
	one->next = order.sends;
	order.sends = one;
	order.nsends++;
	if (!why && !one->copy && !id)
		wait_for(&order.sends);
	return why;
}

/* ---- receives ---- */

uint64_t order_next(void)
{
	return ++order.posted;
}

static struct arriving **find(uint64_t number)
{
	struct arriving **at = &order.buckets[number % BUCKETS];

	while (*at && (*at)->order != number)
		at = &(*at)->next;
	return at;
}

static struct arriving *arrives(uint64_t number)
{
	struct arriving *one = calloc(1, sizeof(*one)), **bucket = &order.buckets[number % BUCKETS];

	if (!one)
		host->fatal("out of memory in the MPI boundary");
	one->order = number;
	one->next = *bucket;
	*bucket = one;
	return one;
}

/* The rank in `comm` that is `peer` in MPI_COMM_WORLD. */
static int rank_of(const struct vcomm *comm, int peer, int asked)
{
	if (asked != MPI_ANY_SOURCE || peer < 0 || !comm->world)
		return asked;
	if (peer < comm_peers(comm) && comm->world[peer] == peer)
		return peer;
	for (int i = 0; i < comm_peers(comm); i++)
		if (comm->world[i] == peer)
			return i;
	return asked;
}

/* Where the message will come from, if one will. */
static bool will_come(uint64_t number, int *source, int *tag, const struct vcomm *comm)
{
	struct rdb_note_recv note;

	switch (host->fate(number, &note)) {
	case RDB_FATE_CANCELLED: return false;
	case RDB_FATE_NONE: return *source != MPI_ANY_SOURCE && *tag != MPI_ANY_TAG; /* it may have matched one */
	default: break;
	}
	*source = rank_of(comm, note.peer, *source);
	*tag = note.tag;
	return true;
}

const char *order_post(void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm)
{
	uint64_t number = order_next();
	struct arriving *one;

	if (source == MPI_PROC_NULL || !will_come(number, &source, &tag, comm))
		return NULL;
	one = arrives(number);
	one->request = receive_begin(buf, count, type, comm);
	if (receive_start(one->request, source, tag, &one->real) != MPI_SUCCESS)
		return refuse("a receive that was posted while it was recorded cannot be posted now");
	return NULL;
}

const char *order_match(int source, int tag, struct vcomm *comm, uint64_t *number)
{
	struct arriving *one;

	*number = order_next();
	if (source == MPI_PROC_NULL || !will_come(*number, &source, &tag, comm))
		return NULL;
	one = arrives(*number);
	one->comm = object_hold(comm);
	if (PMPI_Mprobe(source, tag, REAL(MPI_Comm, comm->o.real), &one->message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return refuse("a message that was matched while it was recorded cannot be matched now");
	return NULL;
}

const char *order_post_matched(void *buf, int count, struct vtype *type, uint64_t number)
{
	struct arriving *one = *find(number);

	if (!one || one->request)
		return NULL; /* of MPI_PROC_NULL */
	one->request = receive_begin(buf, count, type, one->comm);
	object_release(&one->comm->o);
	one->comm = NULL;
	if (receive_matched(one->request, &one->message, &one->real) != MPI_SUCCESS)
		return refuse("a message that was received while it was recorded cannot be received now");
	return NULL;
}

static const char *checked(int rc, const MPI_Status *status, const struct rdb_note_recv *note)
{
	if (rc == MPI_SUCCESS && (uint64_t)status_bytes(status) == note->bytes)
		return NULL;
	return refuse("a message is not the one that came while it was recorded: the program does not do the same "
		      "again, so record it with --record=full");
}

const char *order_receive(const struct rdb_note_recv *note)
{
	struct arriving **at = find(note->order), *one = *at;
	MPI_Status status = status_empty;
	int rc;

	if (!one || !one->request)
		return NULL; /* a call that blocked has received it */
	rc = receive_end(one->request, PMPI_Wait(&one->real, &status), &status);
	*at = one->next;
	free(one);
	return checked(rc, &status, note);
}

const char *order_receive_now(void *buf, int count, struct vtype *type, struct vcomm *comm,
			      const struct rdb_note_recv *note)
{
	MPI_Status status = status_empty;
	MPI_Request real;
	int rc = PMPI_Irecv(buf, count, REAL(MPI_Datatype, type->o.real), rank_of(comm, note->peer, MPI_ANY_SOURCE),
			    note->tag, REAL(MPI_Comm, comm->o.real), &real);

	if (rc != MPI_SUCCESS)
		return refuse("a receive that was posted while it was recorded cannot be posted now");
	rc = PMPI_Wait(&real, &status);
	order_sent(ORDER_EXCHANGED);
	return checked(rc, &status, note);
}

const char *order_exchange(void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm,
			   const struct rdb_note_recv *note)
{
	MPI_Status status = status_empty;
	int source = note ? rank_of(comm, note->peer, MPI_ANY_SOURCE) : MPI_PROC_NULL;
	int rc = PMPI_Sendrecv_replace(buf, count, REAL(MPI_Datatype, type->o.real), dest, tag, source,
				       note ? note->tag : 0, REAL(MPI_Comm, comm->o.real), &status);

	return note ? checked(rc, &status, note) : rc ? refuse("MPI_Sendrecv_replace fails now") : NULL;
}

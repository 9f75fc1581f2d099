/* A whole-job replay: messages arrive as in the recording.  Wildcards are replaced by the source and tag in the log.
 * Messages of one sender with one tag do not overtake each other, so each receive gets the message that it had. */
#include "lower/order/order_expand.h"

enum { BUCKETS = 1024 };

struct arriving {
	struct arriving *next;
	uint64_t order;
	struct vreq *request; /* NULL: a matched message that is not received yet */
	MPI_Request real;
	MPI_Message message;
	struct vcomm *comm;
	int source, tag;
	bool deferred; /* posted only when it is complete in the log */
};

static struct {
	uint64_t posted;
	struct arriving *buckets[BUCKETS];
} order;

uint64_t order_next(void)
{
	return ++order.posted;
}

uint64_t order_posted(void)
{
	return order.posted;
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
	struct arriving *one = needed(calloc(1, sizeof(*one))), **bucket = &order.buckets[number % BUCKETS];

	one->order = number;
	one->next = *bucket;
	*bucket = one;
	return one;
}

/* The rank in `comm` of `peer` in MPI_COMM_WORLD, if MPI_ANY_SOURCE was asked for. */
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

/* What the log says of a receive; if a message comes, replaces wildcards by its source and tag. */
static enum rdb_fate will_come(uint64_t number, int *source, int *tag, const struct vcomm *comm)
{
	struct rdb_note_recv note;
	enum rdb_fate fate = host->fate(number, &note);

	if (fate != RDB_FATE_RECEIVED)
		return fate;
	*source = rank_of(comm, note.peer, *source);
	*tag = note.tag;
	return fate;
}

bool order_deferred(int source, int tag, const struct vcomm *comm)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct arriving *one = order.buckets[i]; one; one = one->next)
			if (one->deferred && one->source == source && one->tag == tag && one->request->comm == comm)
				return true;
	return false;
}

static int start(struct arriving *one)
{
	return receive_start(one->request, one->source, one->tag, &one->real);
}

const char *order_post(void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm)
{
	uint64_t number = order_next();
	bool wild = source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
	struct arriving *one;
	enum rdb_fate fate;

	if (source == MPI_PROC_NULL)
		return NULL;
	fate = will_come(number, &source, &tag, comm);
	if (fate == RDB_FATE_CANCELLED)
		return NULL;
	if (fate == RDB_FATE_NONE && wild) { /* it may have matched a message, unknown to the log */
		order_pending_add(number, count, type, source, tag, comm);
		return NULL;
	}
	one = arrives(number);
	one->request = receive_begin(buf, count, type, comm, false);
	one->source = source;
	one->tag = tag;
	one->deferred = order_pending_before(number, source, tag, comm);
	if (!one->deferred && start(one) != MPI_SUCCESS)
		return "a receive that was posted in the recording cannot be posted now";
	return NULL;
}

struct matching {
	int source, tag;
	MPI_Comm comm;
	MPI_Message *message;
};

static int is_there(void *arg, int *flag)
{
	const struct matching *one = arg;

	return PMPI_Improbe(one->source, one->tag, one->comm, flag, one->message, MPI_STATUS_IGNORE);
}

const char *order_match(int source, int tag, struct vcomm *comm, uint64_t *number)
{
	struct arriving *one;
	struct matching wanted;

	*number = order_next();
	if (source == MPI_PROC_NULL || will_come(*number, &source, &tag, comm) != RDB_FATE_RECEIVED)
		return NULL;
	one = arrives(*number);
	one->comm = object_hold(comm);
	wanted = (struct matching){source, tag, REAL(MPI_Comm, comm->o.real), &one->message};
	if (order_wait_until(is_there, &wanted, RDB_WAIT_MESSAGE, comm_world_rank(comm, source), tag) != MPI_SUCCESS)
		return "a message that was matched in the recording cannot be matched now";
	return NULL;
}

const char *order_post_matched(void *buf, int count, struct vtype *type, uint64_t number)
{
	struct arriving *one = *find(number);

	if (!one || one->request)
		return NULL; /* MPI_MESSAGE_NO_PROC */
	one->request = receive_begin(buf, count, type, one->comm, false);
	object_release(&one->comm->o);
	one->comm = NULL;
	if (receive_matched(one->request, &one->message, &one->real) != MPI_SUCCESS)
		return "a message that was received in the recording cannot be received now";
	return NULL;
}

/* ---- completion ---- */

static bool is_that(int rc, const MPI_Status *status, const struct rdb_note_recv *note, int64_t room)
{
	int64_t bytes = is_truncation(rc) ? room : status_bytes(status);

	return has_come(rc) && (uint64_t)bytes == note->bytes;
}

static const char *checked(int rc, const MPI_Status *status, const struct rdb_note_recv *note, int64_t room)
{
	if (is_that(rc, status, note, room))
		return NULL;
	return "a received message differs from the recording: the program does not repeat its run exactly, so record "
	       "it with --record=full";
}

/* Whether the data is that of the log.  Compared only if another receive may have had the message. */
static bool agrees(const char *buf, int count, const struct vtype *type)
{
	MPI_Aint span = type->true_extent + (count > 1 ? (count - 1) * type->extent : 0);

	return count <= 0 || host->agrees(buf + type->true_lb, (size_t)span);
}

static const char *receive_deferred(struct arriving *one, const struct rdb_note_recv *note)
{
	struct vcomm *comm = object_hold(one->request->comm);
	struct vtype *type = object_hold(one->request->type);
	void *buf = one->request->buf;
	int count = one->request->count, rc;
	int64_t room = one->request->room;
	MPI_Status status;
	bool again;

	do {
		status = status_empty;
		rc = start(one);
		if (rc == MPI_SUCCESS)
			rc = order_wait(&one->real, &status, RDB_WAIT_MESSAGE, note->peer, note->tag);
		rc = receive_end(one->request, rc, &status);
		again = (!is_that(rc, &status, note, room) || !agrees(buf, count, type)) &&
			order_pending_took(note->order, one->source, one->tag, comm);
		if (again)
			one->request = receive_begin(buf, count, type, comm, false);
	} while (again);
	object_release(&type->o);
	object_release(&comm->o);
	return checked(rc, &status, note, room);
}

const char *order_receive(const struct rdb_note_recv *note)
{
	struct arriving **at = find(note->order), *one = *at;
	MPI_Status status = status_empty;
	const char *why;

	if (!one || !one->request)
		return NULL; /* a blocking call has received it */
	*at = one->next;
	if (one->deferred) {
		why = receive_deferred(one, note);
	} else {
		int rc = order_wait(&one->real, &status, RDB_WAIT_MESSAGE, note->peer, note->tag);
		int64_t room = one->request->room;

		why = checked(receive_end(one->request, rc, &status), &status, note, room);
	}
	free(one);
	return why;
}

const char *order_receive_now(void *buf, int count, struct vtype *type, struct vcomm *comm,
			      const struct rdb_note_recv *note)
{
	int source = rank_of(comm, note->peer, MPI_ANY_SOURCE), rc;
	int64_t room = count * type->size;
	MPI_Status status;
	MPI_Request real;

	do {
		status = status_empty;
		rc = PMPI_Irecv(buf, count, REAL(MPI_Datatype, type->o.real), source, note->tag,
				REAL(MPI_Comm, comm->o.real), &real);
		if (rc != MPI_SUCCESS)
			return "a receive that was posted in the recording cannot be posted now";
		rc = order_wait(&real, &status, RDB_WAIT_MESSAGE, note->peer, note->tag);
	} while (order_pending_before(note->order, source, note->tag, comm) &&
		 (!is_that(rc, &status, note, room) || !agrees(buf, count, type)) &&
		 order_pending_took(note->order, source, note->tag, comm));
	order_sent(ORDER_EXCHANGED);
	return checked(rc, &status, note, room);
}

/* The receive has a buffer of its own until the send is complete. */
const char *order_exchange(void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm,
			   const struct rdb_note_recv *note)
{
	MPI_Comm real_comm = REAL(MPI_Comm, comm->o.real);
	struct vreq *request = note ? receive_begin(buf, count, type, comm, false) : NULL;
	MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
	MPI_Status status = status_empty;
	int rc = MPI_SUCCESS, left = MPI_SUCCESS;

	if (note)
		rc = receive_start(request, rank_of(comm, note->peer, MPI_ANY_SOURCE), note->tag, &in);
	if (rc == MPI_SUCCESS)
		rc = PMPI_Isend(buf, count, REAL(MPI_Datatype, type->o.real), dest, tag, real_comm, &out);
	if (rc == MPI_SUCCESS && note)
		rc = order_wait(&in, &status, RDB_WAIT_MESSAGE, note->peer, note->tag);
	if (has_come(rc))
		left = order_wait(&out, MPI_STATUS_IGNORE, RDB_WAIT_RECEIVER, comm_world_rank(comm, dest), tag);
	if (left != MPI_SUCCESS)
		rc = left;
	if (note)
		return checked(receive_end(request, rc, &status), &status, note, count * type->size);
	return rc ? "MPI_Sendrecv_replace succeeded in the recording and fails now" : NULL;
}

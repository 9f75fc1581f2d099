/* At the cut: makes pending operations again, under the ids that the program knows. */
#include "lower/objects/staged_read.h"
#include "lower/objects/pending.h"
#include "lower/restart/restart.h"

struct pending *restart_first, **restart_last = &restart_first;
bool restart_later;

void restart_settled(struct pending **at)
{
	struct pending *gone = *at;

	if (!gone)
		return;
	*at = gone->next;
	if (!*at)
		restart_last = at;
	if (gone->type)
		object_release(&gone->type->o);
	if (gone->comm)
		object_release(&gone->comm->o);
	staged_release(gone->flight);
	free(gone->settled);
	for (unsigned i = 0; i < PENDING_HANDLES && gone->held[i]; i++)
		object_release(gone->held[i]);
	free(gone);
}

/* Makes a complete request for a send: its message has arrived, or is sent again from a copy. */
static const char *complete_send(const struct pending *one, MPI_Request *real)
{
	int rc = PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, real);

	return rc == MPI_SUCCESS ? NULL : restart_refuse(one->name, "its request could not be made again");
}

static const char *send_pending(const struct pending *one)
{
	MPI_Request real;
	const char *why = complete_send(one, &real);

	if (!why)
		((struct vreq *)object_at(RDB_REQUEST, one->id, BITS(real)))->active = true;
	return why;
}

/* The file was written or read on the way to the cut; data that was read is delivered when the program completes the
 * request. */
static const char *file_pending(struct pending *one)
{
	struct vreq *request;
	MPI_Request real;

	if (request_done(0, 0, one->bytes, false, MPI_SUCCESS, &real) != MPI_SUCCESS)
		return restart_refuse(one->name, "its request could not be made again");
	request = (struct vreq *)object_at(RDB_REQUEST, one->id, BITS(real));
	request->active = true;
	request->staged_read = one->flight;
	one->flight = NULL;
	return NULL;
}

/* Completes MPI_Comm_idup now: Open MPI would mix it up with other collectives on its communicator. */
static const char *copied(const struct pending *one)
{
	struct vreq *request = request_of(one->id);
	MPI_Request real = REAL(MPI_Request, request->o.real);

	if (PMPI_Wait(&real, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return restart_refuse(one->name, "it fails now");
	const char *why = complete_send(one, &real);

	request->o.real = BITS(real);
	return why;
}

/* Starts a persistent request, which was made again on the way to the cut. */
static const char *start_again(const struct pending *one)
{
	struct vreq *request = request_of(one->id);
	MPI_Request real = REAL(MPI_Request, request->o.real);
	const char *why = NULL;

	if (!request->persistent)
		return restart_refuse(one->name, "its request is not known");
	if (request->receive) {
		if (PMPI_Start(&real) != MPI_SUCCESS)
			return restart_refuse(one->name, "it fails now");
		request->order = receive_posted();
		if (one->cancelled && PMPI_Cancel(&real) != MPI_SUCCESS)
			return restart_refuse(one->name, "it could not be cancelled again");
	} else {
		request->instead = request->o.real;
		why = complete_send(one, &real);
	}
	request->o.real = BITS(real);
	request->active = true;
	request->delivered = false;
	return why;
}

/* Matches a message again.  Messages of one sender do not overtake each other, but a receive with a wildcard that was
 * posted before might get this message now. */
static const char *match_again(const struct pending *one, MPI_Message *real)
{
	MPI_Status status;

	for (const struct pending *other = restart_first; other != one; other = other->next)
		if (other->kind == POSTS_RECEIVE && other->comm == one->comm &&
		    (other->source == MPI_ANY_SOURCE || other->tag == MPI_ANY_TAG))
			return restart_refuse(one->name,
					      "it has matched a message while a receive from any source or with any "
					      "tag was pending");
	if (PMPI_Mprobe(one->source, one->tag, one->comm->o.real, real, &status) != MPI_SUCCESS)
		return restart_refuse(one->name, "its message cannot be matched again");
	return NULL;
}

static const char *matched(const struct pending *one)
{
	struct vmessage *message;
	MPI_Message real;
	const char *why = match_again(one, &real);

	if (why)
		return why;
	message = (struct vmessage *)object_at(RDB_MESSAGE, one->id, BITS(real));
	message->comm = object_hold(one->comm);
	message->order = receive_posted();
	return NULL;
}

static const char *receive_again(const struct pending *one)
{
	MPI_Message message;
	const char *why = one->kind == POSTS_MATCHED ? match_again(one, &message) : NULL;
	MPI_Request real;
	int rc;

	if (why)
		return why;
	rc = request_receive_again(one->id, one->buf, one->count, one->type, one->source, one->tag, one->comm,
				   one->kind == POSTS_MATCHED ? &message : NULL);
	if (rc != MPI_SUCCESS)
		return restart_refuse(one->name, "the receive could not be posted again");
	real = REAL(MPI_Request, request_of(one->id)->o.real);
	if (one->cancelled && PMPI_Cancel(&real) != MPI_SUCCESS)
		return restart_refuse(one->name, "the receive could not be cancelled again");
	return NULL;
}

static bool freed(const struct pending *one)
{
	if (one->comm)
		return one->kind != POSTS_SEND && comm_of(one->comm->o.id) != one->comm;
	for (unsigned i = 0; i < PENDING_HANDLES && one->held[i]; i++)
		if (one->held[i]->class == RDB_COMM && object_of(RDB_COMM, one->held[i]->id) != one->held[i])
			return true;
	return false;
}

static const char *again(struct pending *one)
{
	if (one->lost)
		return restart_refuse(
			one->name,
			"it was pending when the branch began, and its datatype was freed or it has too many "
			"elements; choose an event at which it is complete");
	if (freed(one))
		return restart_refuse(one->name, "it is pending, and its communicator has been freed");
	if (one->looked && one->kind != POSTS_SEND && one->kind != POSTS_DONE && one->kind != POSTS_OWN)
		return restart_refuse(one->name, "MPI_Request_get_status has said that it is complete");
	switch (one->kind) {
	case POSTS_SEND:
	case POSTS_DONE: return one->file ? file_pending(one) : send_pending(one);
	case POSTS_RECEIVE:
	case POSTS_MATCHED: return receive_again(one);
	case STARTS: return start_again(one);
	case MATCHES: return matched(one);
	case POSTS_COLLECTIVE: restart_later = true; return NULL;
	case POSTS_COPY: return copied(one);
	case POSTS_OWN:
		return generalized_again(one->id, one->args, one->complete) == MPI_SUCCESS
			       ? NULL
			       : restart_refuse(one->name, "its request could not be made again");
	case PARTITIONED: return restart_parts_again(one);
	default: return NULL;
	}
}

const char *restart_cut(void)
{
	struct pending **at = &restart_first;
	const char *why = NULL;

	for (struct pending *one = restart_first; one && !why; one = one->next)
		why = again(one);
	while (!why && *at) {
		if ((*at)->kind == POSTS_COLLECTIVE)
			at = &(*at)->next;
		else
			restart_settled(at);
	}
	return why ? why : restart_windows_cut();
}

/* ---- nonblocking collectives ---- */

/* Puts the objects that its arguments name back under their ids for the call; other objects may have these ids now. */
static void swap_held(struct pending *one)
{
	for (unsigned i = 0; i < PENDING_HANDLES && one->held[i]; i++) {
		struct vobject *held = one->held[i], **slot = &tables[held->class].slot[held->id];

		one->held[i] = *slot;
		*slot = held;
	}
}

static void unswap_held(struct pending *one, struct vobject *const *held)
{
	for (unsigned i = PENDING_HANDLES; i--;) {
		if (!held[i])
			continue;
		tables[held[i]->class].slot[held[i]->id] = one->held[i];
		one->held[i] = held[i];
	}
}

bool restart_post_again(struct pending *one)
{
	struct vobject *held[PENDING_HANDLES];
	void *handle = NULL;
	int64_t result;

	/* the program's request variable may be something else by now */
	one->args[one->nargs - 1] = (uint64_t)&handle;
	memcpy(held, one->held, sizeof(held));
	swap_held(one);
	result = restart_silent_call(one->index, one->nargs, one->args);
	unswap_held(one, held);
	if ((int)result || !handle)
		return false;
	object_move(object_of(RDB_REQUEST, rdb_id(RDB_REQUEST, handle)), one->id);
	return true;
}

void restart_go_on(void)
{
	restart_later = false;
	while (restart_first) {
		if (!restart_post_again(restart_first))
			host->fatal("%s was pending at the cut, and fails now", restart_first->name);
		restart_settled(&restart_first);
	}
}

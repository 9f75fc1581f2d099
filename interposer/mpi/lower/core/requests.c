/* Requests: posting them, and delivering the data of nonblocking receives.
 *
 * With a log, the bytes of a nonblocking receive arrive in a shadow buffer in lower memory; the program's buffer is
 * written at the call that completes the receive, which is an event.  A datatype with gaps is received as MPI_PACKED
 * and unpacked then, because the program may write to the gaps in the meantime.
 */
#include "lower/objects/pending.h"
#include "lower/objects/staged_read.h"
#include "lower/core/lean.h"
#include "lower/core/requests.h"

unsigned long requests_completed;
static struct vreq *orphans; /* receives whose request was freed before they completed */

void request_send(struct vreq *request, struct vcomm *comm, int dest, int tag, const void *buf, int count,
		  struct vtype *type, bool persistent)
{
	request->comm = object_hold(comm);
	request->type = object_hold(type);
	request->peer = dest;
	request->tag = tag;
	request->buf = (void *)buf;
	request->count = count;
	request->persistent = persistent;
	request->active = !persistent;
	if (!persistent)
		note_send(comm, dest, tag, buf, count, type, request->o.id);
}

/* Marks a shadow buffer: MPICH may write nothing of a truncated message; then the program's buffer stays as it is. */
static const char untouched[16] = {0x5a, -0x65, 0x1d, -0x2f, 0x77, 0x3c, -0x14, 0x08,
				   0x49, -0x3b, 0x62, -0x7e, 0x2b, 0x11, -0x52, 0x36};

static size_t shadow_beginning(const struct vreq *request)
{
	return request->room < (int64_t)sizeof(untouched) ? (size_t)request->room : sizeof(untouched);
}

static void shadow_mark(struct vreq *request)
{
	memcpy(request->shadow, untouched, shadow_beginning(request));
}

/* MPI_PACKED must not stand for a type with which the MPI refuses to receive (null, not committed). */
static bool receivable(struct vtype *type)
{
	MPI_Request real;

	if (!type->receivable && PMPI_Recv_init(&real, 1, REAL(MPI_Datatype, type->o.real), MPI_PROC_NULL, 0,
						MPI_COMM_SELF, &real) == MPI_SUCCESS) {
		type->receivable = true;
		PMPI_Request_free(&real);
	}
	return type->receivable;
}

/* Prepares a request for a receive; apart: into its shadow buffer. */
static struct vreq *receive_init(struct vreq *request, void *buf, int count, struct vtype *type, struct vcomm *comm,
				 bool apart)
{
	request->receive = true;
	request->nobody = false;
	request->buf = buf;
	request->count = count;
	request->type = object_hold(type);
	request->comm = object_hold(comm);
	request->room = count > 0 ? count * type->size : 0;
	if (!apart)
		return request;
	request->packed = !type->dense && type->o.real && count >= 0 && receivable(type);
	request->shadow = request->own;
	if (request->packed && request->room > INT32_MAX)
		host->fatal("a nonblocking receive of more than 2 GiB of a datatype with gaps is not supported yet");
	if (request->room > REQUEST_INLINE)
		request->shadow = needed(malloc(request->room));
	shadow_mark(request);
	return request;
}

static struct vreq *receive_new(void *buf, int count, struct vtype *type, struct vcomm *comm)
{
	return receive_init(request_new(NULL), buf, count, type, comm, kept_apart());
}

/* Where, how many and which elements the real MPI receives. */
static void *real_buffer(const struct vreq *request)
{
	return request->shadow ? request->shadow : request->buf;
}

static int real_count(const struct vreq *request)
{
	return request->packed ? (int)request->room : request->count;
}

static MPI_Datatype real_type(const struct vreq *request)
{
	return request->packed ? MPI_PACKED : REAL(MPI_Datatype, request->type->o.real);
}

static int64_t posted(int rc, struct vreq *request, MPI_Request real, bool active, void *upper)
{
	if (rc != MPI_SUCCESS) {
		object_drop(&request->o);
		return rc;
	}
	request->o.real = real;
	request->persistent = !active;
	request->active = active;
	request->order = active ? receive_posted() : 0;
	put_handle(upper, RDB_REQUEST, request->o.id);
	return rc;
}

int request_receive_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag,
			  struct vcomm *comm, MPI_Message *message)
{
	struct vreq *request = (struct vreq *)object_at(RDB_REQUEST, id, NULL);
	MPI_Request real;

	receive_init(request, buf, count, type, comm, kept_apart());
	request->active = true;
	request->order = receive_posted();
	int rc = message ? receive_matched(request, message, &real) : receive_start(request, source, tag, &real);

	request->o.real = real;
	return rc;
}

int request_again(uint32_t id, void *buf, int count, struct vtype *type, int source, int tag, struct vcomm *comm,
		  bool persistent)
{
	struct vreq *request;
	MPI_Request real;
	int rc;

	if (!persistent)
		return request_receive_again(id, buf, count, type, source, tag, comm, NULL);
	request = (struct vreq *)object_at(RDB_REQUEST, id, NULL);
	receive_init(request, buf, count, type, comm, kept_apart());
	request->persistent = true;
	rc = PMPI_Recv_init(real_buffer(request), real_count(request), real_type(request), source, tag,
			    REAL(MPI_Comm, comm->o.real), &real);
	request->nobody = source == MPI_PROC_NULL;
	request->o.real = BITS(real);
	return rc;
}

bool requests_have_orphans(void)
{
	return orphans != NULL;
}

/* buf, count, datatype, source, tag, comm, request */
int64_t real_Irecv(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[5]);
	struct vreq *request = receive_new((void *)a[0], (int)a[1], type_of(a[2]), comm);
	MPI_Request real;
	int rc = PMPI_Irecv(real_buffer(request), real_count(request), real_type(request),
			    picked_source((int)a[3], (int)a[4], comm), (int)a[4], comm->o.real, a[6] ? &real : NULL);

	request->nobody = (int)a[3] == MPI_PROC_NULL;
	return posted(rc, request, real, true, (void *)a[6]);
}

/* buf, count, datatype, source, tag, comm, request */
int64_t real_Recv_init(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[5]);
	struct vreq *request = receive_new((void *)a[0], (int)a[1], type_of(a[2]), comm);
	MPI_Request real;
	int rc = PMPI_Recv_init(real_buffer(request), real_count(request), real_type(request), (int)a[3], (int)a[4],
				comm->o.real, a[6] ? &real : NULL);

	request->nobody = (int)a[3] == MPI_PROC_NULL;
	return posted(rc, request, real, false, (void *)a[6]);
}

/* buf, count, datatype, message, request */
int64_t real_Imrecv(const uint64_t *a)
{
	void **upper = (void **)a[3];
	struct vmessage *message = message_of(upper ? rdb_id(RDB_MESSAGE, *upper) : 0);
	struct vcomm *comm = message->comm ? message->comm : comm_of(0);
	struct vreq *request = receive_new((void *)a[0], (int)a[1], type_of(a[2]), comm);
	MPI_Message matched = message->o.real;
	uint64_t order = message->order;
	MPI_Request real;
	int rc = PMPI_Imrecv(real_buffer(request), real_count(request), real_type(request), &matched,
			     a[4] ? &real : NULL);

	request->nobody = message->o.real == BITS(MPI_MESSAGE_NO_PROC);
	if (rc == MPI_SUCCESS && matched == MPI_MESSAGE_NULL) {
		put_handle(upper, RDB_MESSAGE, RDB_NULL_ID);
		object_drop(&message->o);
	}
	rc = (int)posted(rc, request, real, true, (void *)a[4]);
	if (rc == MPI_SUCCESS)
		request->order = order;
	return rc;
}

/* comm, request */
int64_t real_Ibarrier(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[0]);
	struct vreq *request;
	MPI_Request real;
	int rc = PMPI_Ibarrier(comm->o.real, a[1] ? &real : NULL);

	if (rc != MPI_SUCCESS)
		return rc;
	request = request_new(real);
	request->comm = object_hold(comm);
	request->active = true;
	put_handle((void *)a[1], RDB_REQUEST, request->o.id);
	return rc;
}

/* Unpacks data whose last element is incomplete: MPI_Unpack cannot do that, a receive can. */
static void unpack_part(struct vreq *request, int64_t bytes, int64_t elements)
{
	PMPI_Sendrecv(request->shadow, (int)bytes, MPI_PACKED, 0, 0, request->buf, (int)elements, request->type->o.real,
		      0, 0, private_self(), MPI_STATUS_IGNORE);
}

static int64_t copy_out(struct vreq *request, const MPI_Status *status)
{
	struct vtype *type = request->type;
	bool truncated = is_truncation(status->MPI_ERROR);
	int64_t bytes = truncated ? request->room : status_bytes(status);
	int64_t elements;
	int position = 0;

	if (bytes > request->room)
		bytes = request->room;
	if (!request->shadow || request->early ||
	    (truncated && !memcmp(request->shadow, untouched, shadow_beginning(request))))
		return bytes;
	if (bytes > 0 && !request->packed) {
		memcpy(request->buf, request->shadow, bytes);
		order_out(request->buf, bytes);
	} else if (bytes > 0) {
		elements = (bytes + type->size - 1) / type->size;
		if (bytes % type->size)
			unpack_part(request, bytes, elements);
		else
			PMPI_Unpack(request->shadow, (int)bytes, &position, request->buf, (int)elements, type->o.real,
				    MPI_COMM_SELF);
		out_received(request->buf, bytes, elements, type);
	}
	shadow_mark(request);
	return bytes;
}

static void deliver_bytes(struct vreq *request, const MPI_Status *status)
{
	int64_t bytes;

	request->delivered = true;
	if (request->pending) {
		pending_deliver(request->pending);
		return;
	}
	bytes = copy_out(request, status);
	if (!request->nobody)
		note_receive(request->comm, status, bytes, request->blocking ? 0 : request->o.id, request->order,
			     is_truncation(status->MPI_ERROR));
}

static bool in_full(const struct vreq *request)
{
	return request->partitioned || (request->pending && pending_has_operation(request->pending));
}

static bool left_to_sender(struct vreq *request, const MPI_Status *status)
{
	return request->receive && !request->partitioned && !request->pending && !is_truncation(status->MPI_ERROR) &&
	       lean_receive(request->comm, status, status_bytes(status), request->type);
}

/* Delivers in any call; order_begin() makes the log treat the bytes as those of a message. */
static void deliver(struct vreq *request, const MPI_Status *status)
{
	bool before = order_begin(host->lean ? left_to_sender(request, status) : !in_full(request));

	deliver_bytes(request, status);
	order_begin(before);
}

static void note_cancelled(const struct vreq *request, uint64_t order)
{
	const struct rdb_note_cancelled note = {.order = order, .request = request->o.id};

	host->note(RDB_NOTE_CANCELLED, &note, sizeof(note));
}

static bool brings(const struct vreq *request)
{
	return request->receive || request->pending;
}

void request_complete(struct vreq *request, const MPI_Status *status)
{
	requests_completed++;
	if (request->active && request->staged_read)
		staged_deliver(request->staged_read, status); /* cannot be cancelled, though Open MPI may report it */
	if (request->active && brings(request) && !request->delivered && !status_cancelled(status))
		deliver(request, status);
	if (request->active && request->receive && status_cancelled(status))
		note_cancelled(request, request->order);
	else if (host->order && request->active && !brings(request) && request->type && status_cancelled(status))
		host->fatal("--record=order: the cancellation of a send (MPI_Cancel) cannot be repeated; use "
			    "--record=full");
	/* Restarts need to know that a collective is complete, or that a persistent send is inactive. */
	if (request->active && request->comm && (!request->type || (request->persistent && !request->receive)))
		host->note(RDB_NOTE_DONE, &request->o.id, sizeof(request->o.id));
	if (request->active)
		partitioned_note(request, "complete");
	if (request->instead) {
		request->o.real = request->instead;
		request->instead = NULL;
	}
	request->active = false;
	request->delivered = request->early = false;
	if (request->kept) {
		request->o.real = request->kept;
		request->kept = NULL;
	}
}

void request_peek(struct vreq *request, const MPI_Status *status)
{
	if (request->active && request->staged_read)
		staged_deliver(request->staged_read, status); /* cannot be cancelled, though Open MPI may report it */
	if (request->active && brings(request) && !request->delivered && !status_cancelled(status))
		deliver(request, status);
}

void request_early(struct vreq *request, const MPI_Status *status)
{
	int64_t bytes;
	bool before;

	if (status_cancelled(status) || !still_there(request->buf, request->count, request->type))
		return;
	before = order_begin(host->lean && left_to_sender(request, status));
	bytes = copy_out(request, status);
	order_begin(before);
	if (!request->nobody)
		note_early(request->comm, status, bytes, request->o.id, request->order,
			   is_truncation(status->MPI_ERROR));
	request->early = true;
}

static void started(struct vreq *request, MPI_Request real)
{
	request->o.real = real;
	request->active = true;
	request->delivered = request->early = false;
	partitioned_note(request, "started");
	partitioned_started(request);
	if (request->pending)
		pending_again(request->pending);
	if (!request->receive && request->comm)
		note_send(request->comm, request->peer, request->tag, request->buf, request->count, request->type,
			  request->o.id);
	if (request->receive) {
		request->order = receive_posted();
		host->note(RDB_NOTE_STARTED, &request->o.id, sizeof(request->o.id));
	}
}

struct vreq *receive_begin(void *buf, int count, struct vtype *type, struct vcomm *comm, bool apart)
{
	struct vreq *request = receive_init(request_new(NULL), buf, count, type, comm, apart || kept_apart());

	request->blocking = true;
	request->active = true;
	return request;
}

int receive_start(struct vreq *request, int source, int tag, MPI_Request *real)
{
	request->nobody = source == MPI_PROC_NULL;
	return PMPI_Irecv(real_buffer(request), real_count(request), real_type(request), source, tag,
			  request->comm->o.real, real);
}

int receive_matched(struct vreq *request, MPI_Message *message, MPI_Request *real)
{
	return PMPI_Imrecv(real_buffer(request), real_count(request), real_type(request), message, real);
}

int receive_end(struct vreq *request, int rc, MPI_Status *status)
{
	status->MPI_ERROR = rc;
	if (has_come(rc))
		request_complete(request, status);
	object_drop(&request->o);
	return rc;
}

/* request */
int64_t real_Start(const uint64_t *a)
{
	struct vreq *request = request_at((void **)a[0]);
	MPI_Request real = request->o.real;
	int rc = PMPI_Start(&real);

	if (rc == MPI_SUCCESS)
		started(request, real);
	return failure(rc, request_comm(request));
}

/* count, array_of_requests */
int64_t real_Startall(const uint64_t *a)
{
	struct vreq *request;
	MPI_Request real;
	int rc = MPI_SUCCESS;

	for (int i = 0; i < (int)a[0] && rc == MPI_SUCCESS; i++) {
		request = request_at((void **)a[1] + i);
		real = request->o.real;
		rc = PMPI_Start(&real);
		if (rc != MPI_SUCCESS)
			return failure(rc, request_comm(request));
		started(request, real);
	}
	return rc;
}

/* request */
int64_t real_Cancel(const uint64_t *a)
{
	struct vreq *request = request_at((void **)a[0]);
	MPI_Request real = request->o.real;
	int rc = PMPI_Cancel(a[0] ? &real : NULL);

	if (rc == MPI_SUCCESS && request->active && request->receive)
		note_cancelled(request, 0);
	return failure(rc, request_comm(request));
}

/* request */
int64_t real_Request_free(const uint64_t *a)
{
	struct vreq *request = request_at((void **)a[0]);
	MPI_Request real = request->o.real;
	int rc;

	if ((request->receive || request->staged_read) && request->active) {
		/* The program will not wait for it, but its data must still reach the program. */
		request->next = orphans;
		orphans = object_hold(request);
		object_drop(&request->o);
		put_handle((void **)a[0], RDB_REQUEST, RDB_NULL_ID);
		return MPI_SUCCESS;
	}
	rc = PMPI_Request_free(a[0] ? &real : NULL);
	if (rc != MPI_SUCCESS)
		return failure(rc, request_comm(request));
	if (request->kept)
		PMPI_Request_free((MPI_Request[]){REAL(MPI_Request, request->kept)});
	partitioned_note(request, "freed");
	object_drop(&request->o);
	put_handle((void **)a[0], RDB_REQUEST, RDB_NULL_ID);
	return rc;
}

void requests_poll_orphans(void)
{
	struct vreq **link = &orphans, *request;
	MPI_Status status;
	MPI_Request real;
	int flag;

	while ((request = *link)) {
		real = request->o.real;
		status = status_empty;
		if (PMPI_Test(&real, &flag, &status) == MPI_SUCCESS && !flag) {
			link = &request->next;
			continue;
		}
		*link = request->next;
		if (request->persistent) {
			real = request->kept ? REAL(MPI_Request, request->kept) : real;
			PMPI_Request_free(&real);
		}
		request_complete(request, &status);
		object_release(&request->o);
	}
}

void request_release(struct vobject *object)
{
	struct vreq *request = (struct vreq *)object;

	if (request->pending)
		pending_free(request->pending);
	if (request->shadow != request->own)
		free(request->shadow);
	if (request->type)
		object_release(&request->type->o);
	if (request->comm)
		object_release(&request->comm->o);
	staged_release(request->staged_read);
}

/* Messages that were under way at a checkpoint.  They were taken out of the network into a queue.  Later receives look
 * into the queue before the network, since these messages came first.  No receive posted before matches them. */
#include "lower/core/requests.h"
#include "lower/core/drained.h"
#include "lower/objects/observer.h"

enum { ANY = -1 /* canonical MPI_ANY_SOURCE and MPI_ANY_TAG */, NOBODY = -2 /* canonical MPI_PROC_NULL */ };

bool drained_any;
struct drained *drained_first;

struct drained *drained_new(struct vcomm *comm, int source, int tag, const void *data, size_t bytes)
{
	struct drained *one = needed(calloc(1, sizeof(*one)));

	one->data = needed(malloc(bytes + 1));
	if (data)
		memcpy(one->data, data, bytes);
	one->comm = object_hold(comm);
	one->source = source;
	one->tag = tag;
	one->bytes = bytes;
	return one;
}

void drained_put(struct drained *one)
{
	struct drained **last = &drained_first;

	while (*last)
		last = &(*last)->next;
	*last = one;
	drained_any = drained_first != NULL;
}

void drained_free(struct drained *one)
{
	object_release(&one->comm->o);
	free(one->data);
	free(one);
}

void drained_take(struct vcomm *comm)
{
	MPI_Status status;
	MPI_Message message;
	MPI_Count bytes;
	int flag;

	while (PMPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, REAL(MPI_Comm, comm->o.real), &flag, &message, &status) ==
		       MPI_SUCCESS &&
	       flag) {
		struct drained *one;

		PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
		if (bytes > INT32_MAX)
			host->fatal("a message of more than 2 GiB is under way at a checkpoint");
		one = drained_new(comm, status.MPI_SOURCE, status.MPI_TAG, NULL, (size_t)bytes);
		PMPI_Mrecv(one->data, (int)bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
		drained_put(one);
		observer->received();
	}
}

static struct drained **find(const struct vcomm *comm, int source, int tag)
{
	struct drained **at = &drained_first;

	while (*at && !((*at)->comm == comm && (source == ANY || (*at)->source == source) &&
			(tag == ANY || (*at)->tag == tag)))
		at = &(*at)->next;
	return at;
}

/* Removes a message from the queue. */
static struct drained *out(struct drained **at)
{
	struct drained *one = *at;

	*at = one->next;
	one->next = NULL;
	drained_any = drained_first != NULL || messages_taken;
	return one;
}

static void drop(struct drained **at)
{
	drained_free(out(at));
}

MPI_Status drained_status(const struct drained *one)
{
	MPI_Status status = status_empty;

	status.MPI_SOURCE = one->source;
	status.MPI_TAG = one->tag;
	status.MPI_ERROR = MPI_SUCCESS;
	PMPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)one->bytes);
	return status;
}

int64_t drained_deliver(const struct drained *one, void *buf, int count, struct vtype *type)
{
	int64_t room = count * type->size, bytes = (int64_t)one->bytes < room ? (int64_t)one->bytes : room;
	int position = 0;

	if (bytes > 0 && type->dense)
		memcpy(buf, one->data, bytes);
	else if (bytes > 0 && bytes % type->size) /* the last element is incomplete */
		PMPI_Sendrecv(one->data, (int)bytes, MPI_PACKED, 0, 0, buf, count, REAL(MPI_Datatype, type->o.real), 0,
			      0, private_self(), MPI_STATUS_IGNORE);
	else if (bytes > 0)
		PMPI_Unpack(one->data, (int)bytes, &position, buf, (int)(bytes / type->size),
			    REAL(MPI_Datatype, type->o.real), MPI_COMM_SELF);
	out_received(buf, bytes, count, type);
	return (int64_t)one->bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

/* ---- requests that are complete from the beginning ---- */

struct told {
	int source, tag;
	int64_t bytes;
	bool cancelled;
	int error;
};

static int told_query(void *state, MPI_Status *status)
{
	const struct told *told = state;

	status->MPI_SOURCE = told->source;
	status->MPI_TAG = told->tag;
	PMPI_Status_set_elements_x(status, MPI_BYTE, told->bytes);
	PMPI_Status_set_cancelled(status, told->cancelled);
	return told->error;
}

static int told_free(void *state)
{
	free(state);
	return MPI_SUCCESS;
}

static int told_cancel(void *state __attribute__((unused)), int complete __attribute__((unused)))
{
	return MPI_SUCCESS;
}

int request_done(int source, int tag, int64_t bytes, bool cancelled, int error, MPI_Request *real)
{
	struct told *told = needed(malloc(sizeof(*told)));
	int rc;

	*told = (struct told){source, tag, bytes, cancelled, error};
	rc = PMPI_Grequest_start(told_query, told_free, told_cancel, told, real);
	return rc == MPI_SUCCESS ? PMPI_Grequest_complete(*real) : rc;
}

void drained_done(struct vreq *request, const struct drained *one, void *buf, int count)
{
	const int error = (int)drained_deliver(one, buf, count, request->type);
	MPI_Request real;

	if (request_done(one->source, one->tag, (int64_t)one->bytes, false, error, &real) != MPI_SUCCESS)
		host->fatal("no request could be made for a message that has arrived");
	request->o.real = BITS(real);
	request->room = count > 0 ? count * request->type->size : 0;
	request->active = request->delivered = request->receive = true;
}

/* ---- calls ---- */

static bool receive(const uint64_t *a, int buf, int peer, int comm, int status, int64_t *result)
{
	struct drained **at = find(comm_of(a[comm]), (int)a[peer], (int)a[peer + 1]);
	MPI_Status told;

	if (!*at || (int)a[peer] == NOBODY)
		return false;
	*result = drained_deliver(*at, (void *)a[buf], (int)a[buf + 1], type_of(a[buf + 2]));
	told = drained_status(*at);
	status_out((void *)a[status], &told, false);
	drop(at);
	return true;
}

static bool post(const uint64_t *a)
{
	struct drained **at = find(comm_of(a[5]), (int)a[3], (int)a[4]);
	struct vreq *request;

	if (!*at || !a[6])
		return false;
	request = request_new(MPI_REQUEST_NULL);
	request->type = object_hold(type_of(a[2]));
	request->comm = object_hold(comm_of(a[5]));
	drained_done(request, *at, (void *)a[0], (int)a[1]);
	drop(at);
	put_handle((void **)a[6], RDB_REQUEST, request->o.id);
	return true;
}

static bool probe(const uint64_t *a, int status, int flag)
{
	struct drained **at = find(comm_of(a[2]), (int)a[0], (int)a[1]);
	MPI_Status told;
	int yes = 1;

	if (!*at)
		return false;
	told = drained_status(*at);
	if (flag)
		put((void *)a[flag], &yes, sizeof(yes));
	status_out((void *)a[status], &told, false);
	return true;
}

struct drained *drained_probe(struct vcomm *comm, int source, int tag, bool take, MPI_Status *status)
{
	struct drained **at;

	if (!drained_any || source == MPI_PROC_NULL)
		return NULL;
	at = find(comm, source == MPI_ANY_SOURCE ? ANY : source, tag == MPI_ANY_TAG ? ANY : tag);
	if (!*at)
		return NULL;
	*status = drained_status(*at);
	return take ? out(at) : *at;
}

/* source, tag, comm, (flag,) message, status */
static bool match(const uint64_t *a, bool asks)
{
	struct drained **at = find(comm_of(a[2]), (int)a[0], (int)a[1]);
	MPI_Status told;
	int yes = 1;

	if (!*at || (int)a[0] == NOBODY || !a[asks ? 4 : 3])
		return false;
	told = drained_status(*at);
	if (asks)
		put((void *)a[3], &yes, sizeof(yes));
	message_of_drained((void **)a[asks ? 4 : 3], out(at));
	status_out((void *)a[asks ? 5 : 4], &told, false);
	return true;
}

static bool start(void **upper)
{
	struct vreq *request = request_at(upper);
	struct drained **at;

	if (request->o.id < RDB_FIRST_DYNAMIC || !request->receive || !request->persistent)
		return false;
	at = find(request->comm, request->asked_peer, request->asked_tag);
	if (!*at)
		return false;
	request->kept = request->o.real;
	drained_done(request, *at, request->buf, request->count);
	drop(at);
	return true;
}

/* Only the send (the source is MPI_PROC_NULL), then the receive from the queue. */
static bool exchange(unsigned index, const uint64_t *a, coordinated_invoke *invoke, int64_t *result)
{
	const bool replace = index == RDB_Sendrecv_replace;
	const int source = replace ? 5 : 8, comm = replace ? 7 : 10, status = replace ? 8 : 11, buf = replace ? 0 : 5;
	uint64_t b[12];

	if (!*find(comm_of(a[comm]), (int)a[source], (int)a[source + 1]))
		return false;
	memcpy(b, a, (size_t)(status + 1) * sizeof(*a));
	b[source] = (uint64_t)(int64_t)NOBODY;
	b[status] = 0;
	*result = invoke(index, b);
	if (!*result)
		receive(a, buf, source, comm, status, result);
	return true;
}

bool drained_call(unsigned index, const uint64_t *a, coordinated_invoke *invoke, int64_t *result)
{
	*result = 0;
	switch (index) {
	case RDB_Recv: return receive(a, 0, 3, 5, 6, result);
	case RDB_Irecv: return post(a);
	case RDB_Probe: return probe(a, 3, 0);
	case RDB_Iprobe: return probe(a, 4, 3);
	case RDB_Mprobe: return match(a, false);
	case RDB_Improbe: return match(a, true);
	case RDB_Mrecv: return message_receive(a, result);
	case RDB_Imrecv: return message_post(a);
	case RDB_Start: return start((void **)a[0]);
	case RDB_Startall:
		for (int i = 0; i < (int)a[0] && !*result; i++) {
			void **upper = (void **)a[1] + i;

			if (!start(upper))
				*result = invoke(RDB_Start, (uint64_t[]){(uint64_t)upper});
		}
		return true;
	case RDB_Sendrecv:
	case RDB_Sendrecv_replace: return exchange(index, a, invoke, result);
	default: return false;
	}
}

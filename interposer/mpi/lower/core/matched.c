/* Messages that the program has matched (MPI_Mprobe) and not received yet.  At a checkpoint they are taken out of the
 * network like other messages under way, and the program's handle names the drained message. */
#include "lower/core/requests.h"
#include "lower/core/drained.h"
#include "lower/objects/observer.h"

unsigned messages_taken;

void message_seen(struct vmessage *message, const MPI_Status *status)
{
	MPI_Count bytes = 0;

	PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
	message->source = status->MPI_SOURCE;
	message->tag = status->MPI_TAG;
	message->bytes = bytes;
}

static void taken(struct vmessage *message, struct drained *one)
{
	message->taken = one;
	messages_taken++;
	drained_any = true;
}

static void begin(struct vmessage *message)
{
	MPI_Message real = REAL(MPI_Message, message->o.real);
	MPI_Request request;

	if (message->bytes > INT32_MAX)
		host->fatal("a message of more than 2 GiB was matched (MPI_Mprobe), where there may be checkpoints");
	message->taken = drained_new(message->comm, message->source, message->tag, NULL, (size_t)message->bytes);
	if (PMPI_Imrecv(message->taken->data, (int)message->bytes, MPI_BYTE, &real, &request) != MPI_SUCCESS)
		host->fatal("a message that was matched cannot be received");
	message->o.real = NULL;
	message->coming = BITS(request);
}

bool message_here(void *arg)
{
	struct vmessage *message = arg;
	MPI_Request request;
	int flag = 0;

	if (!message->taken)
		begin(message);
	if (!message->coming)
		return true;
	request = REAL(MPI_Request, message->coming);
	if (PMPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		host->fatal("a message that was matched cannot be received");
	message->coming = flag ? NULL : BITS(request);
	if (flag) {
		taken(message, message->taken);
		observer->received();
	}
	return flag;
}

static struct vmessage *message_at(uint32_t id, struct drained *one)
{
	struct vmessage *message = id ? (struct vmessage *)object_at(RDB_MESSAGE, id, NULL) : message_new(NULL);

	message->comm = object_hold(one->comm);
	message->order = receive_posted();
	taken(message, one);
	return message;
}

void message_of_drained(void **upper, struct drained *one)
{
	put_handle(upper, RDB_MESSAGE, message_at(0, one)->o.id);
}

unsigned messages_take(void)
{
	struct vmessage *message;
	unsigned pending = 0;

	EACH(RDB_MESSAGE, message)
	pending += !message_here(message);
	return pending;
}

static struct vmessage *named(const uint64_t *a)
{
	void **upper = (void **)a[3];
	struct vmessage *message = message_of(upper ? rdb_id(RDB_MESSAGE, *upper) : 0);

	return message->taken && !message->coming ? message : NULL;
}

static void received(void **upper, struct vmessage *message)
{
	messages_taken--;
	drained_any = drained_first || messages_taken;
	put_handle(upper, RDB_MESSAGE, RDB_NULL_ID);
	object_drop(&message->o);
}

/* buf, count, datatype, message, status */
bool message_receive(const uint64_t *a, int64_t *result)
{
	struct vmessage *message = named(a);
	MPI_Status told;

	if (!message)
		return false;
	*result = drained_deliver(message->taken, (void *)a[0], (int)a[1], type_of(a[2]));
	told = drained_status(message->taken);
	status_out((void *)a[4], &told, false);
	received((void **)a[3], message);
	return true;
}

/* buf, count, datatype, message, request */
bool message_post(const uint64_t *a)
{
	struct vmessage *message = named(a);
	struct vreq *request;

	if (!message || !a[4])
		return false;
	request = request_new(MPI_REQUEST_NULL);
	request->type = object_hold(type_of(a[2]));
	request->comm = object_hold(message->comm);
	drained_done(request, message->taken, (void *)a[0], (int)a[1]);
	put_handle((void **)a[4], RDB_REQUEST, request->o.id);
	received((void **)a[3], message);
	return true;
}

void message_release(struct vobject *object)
{
	struct vmessage *message = (struct vmessage *)object;

	if (message->comm)
		object_release(&message->comm->o);
	if (message->taken)
		drained_free(message->taken);
}

/* ---- in a checkpoint ---- */

void put_drained(struct bytes *out, const struct drained *one)
{
	put_number(out, one->comm->o.id);
	put_number(out, one->source);
	put_number(out, one->tag);
	put_number(out, (int64_t)one->bytes);
	put_bytes(out, one->data, one->bytes);
}

struct drained *get_drained(struct bytes *in)
{
	uint32_t comm = (uint32_t)get_number(in);
	int source = (int)get_number(in), tag = (int)get_number(in);
	size_t bytes = (size_t)get_number(in);
	const void *data = get_bytes(in, bytes);

	return data ? drained_new(comm_of(comm), source, tag, data, bytes) : NULL;
}

void put_messages(struct bytes *out)
{
	struct vmessage *message;

	EACH(RDB_MESSAGE, message)
	{
		put_number(out, message->o.id);
		put_drained(out, message->taken);
	}
	put_number(out, 0);
}

void get_messages(struct bytes *in)
{
	uint32_t id;

	while (!in->bad && (id = (uint32_t)get_number(in))) {
		struct drained *one = get_drained(in);

		if (one)
			message_at(id, one);
	}
}

/* Blocking point-to-point.  A receive goes straight to the program's buffer, unless other threads run meanwhile: then
 * it is a nonblocking receive, which is waited for. */
#include "lower/core/drained.h"
#include "lower/core/lean.h"
#include "lower/objects/observer.h"
#include "lower/core/requests.h"

void note_send(const struct vcomm *comm, int dest, int tag, const void *buf, int64_t count, struct vtype *type,
	       uint32_t request)
{
	struct rdb_note_recv note = {
		.peer = comm_world_rank(comm, dest),
		.tag = tag,
		.comm = comm->o.id,
		.request = request,
		.bytes = count * type->size,
		.from = type->dense ? (uint64_t)buf : 0,
	};

	if (dest != MPI_PROC_NULL && observer)
		observer->sent();
	lean_keep(buf, count, type, comm, dest, false);
	if (dest != MPI_PROC_NULL)
		host->note(RDB_NOTE_SEND, &note, sizeof(note));
}

static uint64_t posted; /* receives so far */

/* Number of a receive in the order of posting.  Receives that match the same message get it in this order (MPI-3.1,
 * 3.5). */
uint64_t receive_posted(void)
{
	return ++posted;
}

static void note_message(enum rdb_note what, const struct vcomm *comm, const MPI_Status *status, int64_t bytes,
			 uint32_t request, uint64_t order, bool truncated)
{
	struct rdb_note_recv note = {
		.peer = comm_world_rank(comm, status->MPI_SOURCE),
		.tag = status->MPI_TAG,
		.comm = comm->o.id,
		.request = request,
		.bytes = bytes,
		.order = order,
		.from = truncated,
	};

	if (status->MPI_SOURCE != MPI_PROC_NULL)
		host->note(what, &note, sizeof(note));
}

void note_receive(const struct vcomm *comm, const MPI_Status *status, int64_t bytes, uint32_t request, uint64_t order,
		  bool truncated)
{
	if (status->MPI_SOURCE != MPI_PROC_NULL && observer)
		observer->received();
	note_message(RDB_NOTE_RECV, comm, status, bytes, request, order, truncated);
}

void note_early(const struct vcomm *comm, const MPI_Status *status, int64_t bytes, uint32_t request, uint64_t order,
		bool truncated)
{
	note_message(RDB_NOTE_EARLY, comm, status, bytes, request, order, truncated);
}

/* Whoever has seen a message knows that it was sent (MPI-4.0, 3.8). */
static void note_probed(const struct vcomm *comm, int source, const MPI_Status *status, uint64_t order)
{
	struct rdb_note_recv note = {
		.peer = comm_world_rank(comm, status->MPI_SOURCE),
		.tag = status->MPI_TAG,
		.comm = comm->o.id,
		.bytes = status_bytes(status),
		.order = order,
	};

	if (source != MPI_PROC_NULL)
		host->note(RDB_NOTE_PROBED, &note, sizeof(note));
}

/* Corrects the status of a nonblocking receive from MPI_PROC_NULL: MPICH's names rank 0 as source. */
static void from_nobody(int source, MPI_Status *status)
{
	if (source == MPI_PROC_NULL) {
		status->MPI_SOURCE = MPI_PROC_NULL;
		status->MPI_TAG = MPI_ANY_TAG;
	}
}

static int64_t received(int rc, void *buf, int count, struct vtype *type, struct vcomm *comm, MPI_Status *status,
			void *upper_status, uint64_t order)
{
	if (rc == MPI_SUCCESS) {
		if (host->lean)
			order_begin(lean_receive(comm, status, status_bytes(status), type));
		out_received(buf, status_bytes(status), count, type);
		note_receive(comm, status, status_bytes(status), 0, order, false);
		if (host->lean)
			order_begin(false);
		status_out(upper_status, status, false);
	} else if (is_truncation(rc)) {
		order_begin(false);
		out_typed(buf, count, type);
		note_receive(comm, status, count * type->size, 0, order, true);
		status_out(upper_status, status, false);
	}
	return rc;
}

static int64_t shared_recv(const uint64_t *a)
{
	struct vreq *request = receive_begin((void *)a[0], (int)a[1], type_of(a[2]), comm_of(a[5]), false);
	MPI_Status status = status_empty;
	MPI_Request real;
	int rc = receive_start(request, (int)a[3], (int)a[4], &real);

	request->order = receive_posted();

	if (rc == MPI_SUCCESS)
		rc = waited(&real, &status);
	from_nobody((int)a[3], &status);
	rc = receive_end(request, rc, &status);
	if (has_come(rc))
		status_out((void *)a[6], &status, false);
	return rc;
}

/* A receive during which the program may be held. */
static int receive_together(const uint64_t *a, MPI_Status *status)
{
	MPI_Request real;
	int rc = PMPI_Irecv((void *)a[0], (int)a[1], REAL(MPI_Datatype, type_of(a[2])->o.real), (int)a[3], (int)a[4],
			    REAL(MPI_Comm, comm_of(a[5])->o.real), &real);

	rc = rc == MPI_SUCCESS ? observer->wait(&real, status, false) : rc;
	from_nobody((int)a[3], status);
	return rc;
}

struct probing {
	int source, tag, flag, rc;
	struct vcomm *comm;
	MPI_Message *message; /* NULL: do not match the message */
	MPI_Status *status;
	struct drained *drained; /* found in the queue of a checkpoint instead */
};

static bool probed(void *arg)
{
	struct probing *p = arg;
	MPI_Comm comm = REAL(MPI_Comm, p->comm->o.real);

	if (p->flag)
		return true;
	p->drained = drained_probe(p->comm, p->source, p->tag, p->message != NULL, p->status);
	if (p->drained)
		p->flag = true;
	else if (p->message)
		p->rc = PMPI_Improbe(p->source, p->tag, comm, &p->flag, p->message, p->status);
	else
		p->rc = PMPI_Iprobe(p->source, p->tag, comm, &p->flag, p->status);
	return p->flag || p->rc != MPI_SUCCESS;
}

/* Waits until a message is there.  If other threads may run meanwhile, it is looked for again afterwards: matches and
 * posted receives must be in the order of the log. */
static int probe(struct probing *p)
{
	MPI_Comm comm = REAL(MPI_Comm, p->comm->o.real);

	if (observer)
		observer->until(probed, p);
	else if (apart())
		while (!probed(p))
			p->rc = BLOCKING(PMPI_Probe(p->source, p->tag, comm, p->status));
	else if (p->message)
		p->rc = BLOCKING(PMPI_Mprobe(p->source, p->tag, comm, p->message, p->status));
	else
		p->rc = BLOCKING(PMPI_Probe(p->source, p->tag, comm, p->status));
	return p->rc;
}

/* buf, count, datatype, source, tag, comm, status */
int64_t real_Recv(const uint64_t *a)
{
	if (apart())
		return shared_recv(a);

	struct vtype *type = type_of(a[2]);
	struct vcomm *comm = comm_of(a[5]);
	MPI_Status status = status_empty;

	const int source = picked_source((int)a[3], (int)a[4], comm);

	if (!observer)
		idle_until_message(source, (int)a[4], REAL(MPI_Comm, comm->o.real));
	int rc = observer ? receive_together(a, &status)
			  : BLOCKING(PMPI_Recv((void *)a[0], (int)a[1], type->o.real, source, (int)a[4], comm->o.real,
					       &status));

	return received(rc, (void *)a[0], (int)a[1], type, comm, &status, (void *)a[6], receive_posted());
}

static int shared_mrecv(const uint64_t *a, struct vcomm *comm, MPI_Message *message, MPI_Status *status, uint64_t order)
{
	struct vreq *request = receive_begin((void *)a[0], (int)a[1], type_of(a[2]), comm, false);
	MPI_Request real;
	int rc = receive_matched(request, message, &real);

	request->order = order;

	if (rc == MPI_SUCCESS)
		rc = waited(&real, status);
	rc = receive_end(request, rc, status);
	if (has_come(rc))
		status_out((void *)a[4], status, false);
	return rc;
}

/* buf, count, datatype, message, status */
int64_t real_Mrecv(const uint64_t *a)
{
	struct vtype *type = type_of(a[2]);
	void **upper = (void **)a[3];
	struct vmessage *message = message_of(upper ? rdb_id(RDB_MESSAGE, *upper) : 0);
	struct vcomm *comm = message->comm ? message->comm : comm_of(0);
	MPI_Message real = message->o.real;
	MPI_Status status = status_empty;
	int64_t result;
	int rc;

	if (observer && message->o.id >= RDB_FIRST_DYNAMIC) {
		observer->until(message_here, message);
		message_receive(a, &result);
		return result;
	}
	if (apart()) {
		rc = shared_mrecv(a, comm, &real, &status, message->order);
	} else {
		rc = BLOCKING(PMPI_Mrecv((void *)a[0], (int)a[1], type->o.real, &real, &status));
		received(rc, (void *)a[0], (int)a[1], type, comm, &status, (void *)a[4], message->order);
	}
	if (real == MPI_MESSAGE_NULL) {
		put_handle(upper, RDB_MESSAGE, RDB_NULL_ID);
		object_drop(&message->o);
	}
	return rc;
}

/* Sends and receives at once, and delivers the received data afterwards: its buffer may be that of the data to send. */
static int64_t exchange(const void *out, int outcount, struct vtype *sent, int dest, int sendtag, void *in, int incount,
			struct vtype *type, int source, int recvtag, struct vcomm *comm, void *upper_status)
{
	struct vreq *request = receive_begin(in, incount, type, comm, in == out);
	MPI_Status status = status_empty;
	MPI_Request receiving, sending;
	const bool before = exchange_sent(); /* sent before a restart from a checkpoint */
	int rc = receive_start(request, source, recvtag, &receiving), failed = MPI_SUCCESS;

	request->order = receive_posted();
	object_hold(sent);
	if (rc == MPI_SUCCESS) {
		if (!exchange_sent()) {
			failed = PMPI_Isend(out, outcount, sent->o.real, dest, sendtag, comm->o.real, &sending);
			if (failed != MPI_SUCCESS)
				PMPI_Cancel(&receiving);
			else
				failed = waited_sent(&sending);
			if (observer && failed == MPI_SUCCESS) {
				note_send(comm, dest, sendtag, NULL, outcount, sent, 0);
				exchange_sends(true);
			}
		}
		rc = waited(&receiving, &status);
		from_nobody(source, &status);
		exchange_sends(false);
	}
	if (has_come(rc) && failed == MPI_SUCCESS && !observer && !before)
		note_send(comm, dest, sendtag, out, outcount, sent, 0);
	rc = receive_end(request, failed != MPI_SUCCESS ? failed : rc, &status);
	if (has_come(rc))
		status_out(upper_status, &status, false);
	object_release(&sent->o);
	return rc;
}

/* sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
 * comm, status */
int64_t real_Sendrecv(const uint64_t *a)
{
	struct vtype *sent = type_of(a[2]), *type = type_of(a[7]);
	struct vcomm *comm = comm_of(a[10]);
	MPI_Status status = status_empty;
	int rc;

	if (apart() || observer || exchange_sent())
		return exchange((void *)a[0], (int)a[1], sent, (int)a[3], (int)a[4], (void *)a[5], (int)a[6], type,
				(int)a[8], (int)a[9], comm, (void *)a[11]);

	const int source = picked_source((int)a[8], (int)a[9], comm);

	rc = BLOCKING(PMPI_Sendrecv((void *)a[0], (int)a[1], sent->o.real, (int)a[3], (int)a[4], (void *)a[5],
				    (int)a[6], type->o.real, source, (int)a[9], comm->o.real, &status));
	if (has_come(rc))
		note_send(comm, (int)a[3], (int)a[4], (void *)a[0], (int)a[1], sent, 0);
	return received(rc, (void *)a[5], (int)a[6], type, comm, &status, (void *)a[11], receive_posted());
}

/* buf, count, datatype, dest, sendtag, source, recvtag, comm, status */
static int64_t sendrecv_replace(const uint64_t *a)
{
	struct vtype *type = type_of(a[2]);
	struct vcomm *comm = comm_of(a[7]);
	MPI_Status status = status_empty;
	int rc;

	if (apart() || observer || exchange_sent())
		return exchange((void *)a[0], (int)a[1], type, (int)a[3], (int)a[4], (void *)a[0], (int)a[1], type,
				(int)a[5], (int)a[6], comm, (void *)a[8]);

	const int source = picked_source((int)a[5], (int)a[6], comm);

	lean_keep((void *)a[0], (int)a[1], type, comm, (int)a[3], true); /* the call overwrites it */
	rc = BLOCKING(PMPI_Sendrecv_replace((void *)a[0], (int)a[1], type->o.real, (int)a[3], (int)a[4], source,
					    (int)a[6], comm->o.real, &status));
	if (has_come(rc))
		note_send(comm, (int)a[3], (int)a[4], NULL, (int)a[1], type, 0); /* its data is overwritten by now */
	return received(rc, (void *)a[0], (int)a[1], type, comm, &status, (void *)a[8], receive_posted());
}

int64_t real_Sendrecv_replace(const uint64_t *a)
{
	struct upper_status *status = (struct upper_status *)a[8];
	const int none = error_out(MPI_SUCCESS);
	int64_t rc = sendrecv_replace(a);

	if (rc == MPI_SUCCESS && !SETS_ERROR && status)
		put(&status->error, &none, sizeof(none));
	return rc;
}

static MPI_Status probe_status(void)
{
	MPI_Status status = status_empty;

	status.MPI_ERROR = ERROR_UNSET;
	return status;
}

static void probe_out(void *upper, const MPI_Status *status)
{
	status_out(upper, status, status->MPI_ERROR != ERROR_UNSET);
}

/* source, tag, comm, status */
int64_t real_Probe(const uint64_t *a)
{
	MPI_Status status = probe_status();
	struct vcomm *comm = comm_of(a[2]);
	struct probing probing = {
		.source = picked_source((int)a[0], (int)a[1], comm), .tag = (int)a[1], .comm = comm, .status = &status};
	int rc = probe(&probing);

	if (rc == MPI_SUCCESS) {
		note_probed(comm, (int)a[0], &status, posted + 1);
		probe_out((void *)a[3], &status);
	}
	return rc;
}

/* source, tag, comm, flag, status */
int64_t real_Iprobe(const uint64_t *a)
{
	MPI_Status status = probe_status();
	const struct vcomm *comm = comm_of(a[2]);
	int flag = 0;
	const int source = picked_source((int)a[0], (int)a[1], comm);
	int rc = PMPI_Iprobe(source, (int)a[1], comm->o.real, a[3] ? &flag : NULL, &status);

	if (rc != MPI_SUCCESS)
		return rc;
	put((void *)a[3], &flag, sizeof(flag));
	if (flag) {
		note_probed(comm, (int)a[0], &status, posted + 1);
		probe_out((void *)a[4], &status);
	}
	return rc;
}

static void matched(void **upper, MPI_Message real, struct vcomm *comm, int source, const MPI_Status *status)
{
	struct vmessage *message = message_new(real);

	if (message->o.id >= RDB_FIRST_DYNAMIC) {
		message->comm = object_hold(comm);
		if (observer)
			message_seen(message, status);
	}
	message->order = receive_posted();
	note_probed(comm, source, status, message->order);
	put_handle(upper, RDB_MESSAGE, message->o.id);
}

/* source, tag, comm, message, status */
int64_t real_Mprobe(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[2]);
	MPI_Status status = probe_status();
	MPI_Message real;
	struct probing probing = {.source = picked_source((int)a[0], (int)a[1], comm),
				  .tag = (int)a[1],
				  .comm = comm,
				  .message = &real,
				  .status = &status};
	int rc;

	if (!a[3])
		return PMPI_Mprobe((int)a[0], (int)a[1], comm->o.real, NULL, &status);
	object_hold(comm);
	rc = probe(&probing);
	if (rc == MPI_SUCCESS && probing.drained)
		message_of_drained((void **)a[3], probing.drained);
	else if (rc == MPI_SUCCESS)
		matched((void **)a[3], real, comm, (int)a[0], &status);
	if (rc == MPI_SUCCESS)
		probe_out((void *)a[4], &status);
	object_release(&comm->o);
	return rc;
}

/* source, tag, comm, flag, message, status */
int64_t real_Improbe(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[2]);
	MPI_Status status = probe_status();
	MPI_Message real;
	int flag = 0;
	const int source = picked_source((int)a[0], (int)a[1], comm);
	int rc = PMPI_Improbe(source, (int)a[1], comm->o.real, a[3] ? &flag : NULL, a[4] ? &real : NULL, &status);

	if (rc != MPI_SUCCESS)
		return rc;
	put((void *)a[3], &flag, sizeof(flag));
	if (flag) {
		matched((void **)a[4], real, comm, (int)a[0], &status);
		probe_out((void *)a[5], &status);
	}
	return rc;
}

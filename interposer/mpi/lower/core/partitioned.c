/* Partitioned communication (MPI-4.0, 4.2).  Sends are made from the program's memory.  Received data arrives in lower
 * memory and reaches the program by partitions, as it asks for them, or when the request is complete.  With
 * --record=order the data is in the log, because the order in which partitions arrive cannot be reproduced. */
#include <stdio.h>
#include "lower/objects/large.h"
#include "lower/objects/pending.h"
#include "lower/core/requests.h"

int64_t addition_missing(const char *name)
{
	host->fatal("%s: the MPI library that the program runs with lacks this function", name);
	abort();
}

void partitioned_note(const struct vreq *request, const char *what)
{
	char text[64];

	if (!request->partitioned)
		return;
	int len = snprintf(text, sizeof(text), "partitioned=%u %s", request->o.id, what);

	host->note(RDB_NOTE_TEXT, text, (size_t)len);
}

/* In Open MPI 5.0, progress made between a repeated start of a partitioned send and MPI_Pready takes its partitions as
 * sent (mca_part_persist_start); the send completes too early or never.  A restarted program gets an error then. */
bool partitioned_watched, partitioned_restarted;
static unsigned others;

void partitioned_started(struct vreq *request)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION == 5
	if (!partitioned_restarted || !request->partitioned || request->pending)
		return;
	request->others = others;
	partitioned_watched |= request->starts++ > 0;
#else
	(void)request;
#endif
}

void partitioned_before(unsigned index)
{
	others += index != RDB_Start && index != RDB_Startall && index != RDB_Pready && index != RDB_Pready_range &&
		  index != RDB_Pready_list;
}

#if MPI_4
static void ready(const struct vreq *request, const char *name)
{
	if (request->starts > 1 && request->others != others)
		host->fatal("%s: when a request is started again, %s regards partitions that are not ready as sent; "
			    "restart over another MPI (--mpi)",
			    name, own_plugin->name);
}

/* The request has no communicator: partitioned messages are not matched with others by their order. */
static int64_t prepared(int rc, struct vreq *request, MPI_Request real, uint64_t upper)
{
	request->partitioned = true;
	if (rc != MPI_SUCCESS) {
		object_drop(&request->o);
		return rc;
	}
	request->o.real = BITS(real);
	request->persistent = true;
	request->active = false;
	put_handle((void *)upper, RDB_REQUEST, request->o.id);
	return rc;
}

/* buf, partitions, count, datatype, dest, tag, comm, info, request */
int64_t real_Psend_init(const uint64_t *a)
{
	struct vtype *type = type_of(a[3]);
	struct vreq *request;
	MPI_Request real;
	int rc;

	rc = PMPI_Psend_init((void *)a[0], (int)a[1], (MPI_Count)a[2], REAL(MPI_Datatype, type->o.real), (int)a[4],
			     (int)a[5], REAL(MPI_Comm, comm_of(a[6])->o.real), REAL(MPI_Info, info_of(a[7])->real),
			     a[8] ? &real : NULL);
	request = request_new(BITS(NULL));
	request->type = object_hold(type);
	request->buf = (void *)a[0];
	request->room = (int64_t)a[2];
	return prepared(rc, request, real, a[8]);
}

/* buf, partitions, count, datatype, source, tag, comm, info, request */
int64_t real_Precv_init(const uint64_t *a)
{
	struct vtype *type = type_of(a[3]);
	struct vcomm *comm = comm_of(a[6]);
	struct vreq *request = request_new(BITS(NULL));
	struct staging staged;
	MPI_Request real;
	int rc;

	staging_keep(&staged, (void *)a[0]);
	for (int i = 0; i < (int)a[1]; i++)
		staging_part(&staged, (char *)a[0] + (MPI_Aint)i * (MPI_Aint)a[2] * type->extent, (int64_t)a[2], type);
	staging_ready(&staged);
	rc = PMPI_Precv_init(staged.buffer, (int)a[1], (MPI_Count)a[2], REAL(MPI_Datatype, type->o.real), (int)a[4],
			     (int)a[5], REAL(MPI_Comm, comm->o.real), REAL(MPI_Info, info_of(a[7])->real),
			     a[8] ? &real : NULL);
	pending_begin(request, comm, &staged, NULL, NULL, NULL, NULL);
	object_release(&request->comm->o);
	request->comm = NULL;
	return prepared(rc, request, real, a[8]);
}

/* request, partition, flag */
int64_t real_Parrived(const uint64_t *a)
{
	struct vreq *request = request_of(a[0]);
	int flag = 0, rc = PMPI_Parrived(REAL(MPI_Request, request->o.real), (int)a[1], a[2] ? &flag : NULL);

	if (rc != MPI_SUCCESS)
		return failure(rc, request_comm(request));
	/* after a restart, partitions that had arrived arrive again; they count as here */
	if (request->active && request->pending && pending_part_is_there(request->pending, (unsigned)a[1]))
		flag = true;
	if (flag && request->active && request->pending)
		pending_deliver_part(request->pending, (unsigned)a[1]);
	put((void *)a[2], &flag, sizeof(flag));
	return rc;
}

static MPI_Request real_of(uint64_t id)
{
	return REAL(MPI_Request, request_of(id)->o.real);
}

static int64_t done(int rc, uint64_t id)
{
	return failure(rc, request_comm(request_of(id)));
}

/* partition, request */
int64_t real_Pready(const uint64_t *a)
{
	ready(request_of(a[1]), "MPI_Pready");
	return done(PMPI_Pready((int)a[0], real_of(a[1])), a[1]);
}

/* partition_low, partition_high, request */
int64_t real_Pready_range(const uint64_t *a)
{
	ready(request_of(a[2]), "MPI_Pready_range");
	return done(PMPI_Pready_range((int)a[0], (int)a[1], real_of(a[2])), a[2]);
}

/* length, array_of_partitions, request */
int64_t real_Pready_list(const uint64_t *a)
{
	ready(request_of(a[2]), "MPI_Pready_list");
	return done(PMPI_Pready_list((int)a[0], (int *)a[1], real_of(a[2])), a[2]);
}
#else
#define MISSING(name) \
	int64_t real_##name(const uint64_t *a __attribute__((unused))) \
	{ \
		return addition_missing("MPI_" #name); \
	}
MISSING(Psend_init)
MISSING(Precv_init)
MISSING(Pready)
MISSING(Pready_range)
MISSING(Pready_list)
MISSING(Parrived)
#endif

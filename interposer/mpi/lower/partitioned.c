/* Partitioned communication (MPI-4.0, 4.2): what is sent is the program's memory; what comes arrives in lower memory, and
 * reaches the program by partitions, as it asks for them, or when the request is complete.  Recordings of the order have
 * it in the log: when which partition came is not to be had again, and no other message depends on it. */
#include <stdio.h>
#include "large.h"
#include "pending.h"
#include "requests.h"

extern struct rdb_plugin rdb_plugin;

int64_t addition_missing(const char *name)
{
	host->fatal("%s: the MPI library that the program runs with does not have it", name);
	abort();
}

void partitioned_note(const struct vreq *request, const char *what)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "partitioned=%u %s", request->o.id, what);

	if (request->partitioned)
		host->note(RDB_NOTE_TEXT, text, (size_t)len);
}

/* Open MPI 5.0 takes the partitions of a send that is started again for sent wherever it comes to look before they are ready
 * (mca_part_persist_start): it is complete too early, or never.  A program that was recorded over another MPI is told. */
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
		host->fatal("%s: %s takes partitions that are not ready for sent when their request is started "
			    "again; restart over another MPI (--mpi)",
			    name, rdb_plugin.name);
}

/* Not of a communicator: such messages are apart from all others, which are matched by their order. */
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
	struct landing land;
	MPI_Request real;
	int rc;

	landing_keep(&land, (void *)a[0]);
	for (int i = 0; i < (int)a[1]; i++)
		landing_part(&land, (char *)a[0] + (MPI_Aint)i * (MPI_Aint)a[2] * type->extent, (int64_t)a[2], type);
	landing_ready(&land);
	rc = PMPI_Precv_init(land.buffer, (int)a[1], (MPI_Count)a[2], REAL(MPI_Datatype, type->o.real), (int)a[4],
			     (int)a[5], REAL(MPI_Comm, comm->o.real), REAL(MPI_Info, info_of(a[7])->real),
			     a[8] ? &real : NULL);
	pending_begin(request, comm, &land, NULL, NULL, NULL, NULL);
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
	/* after a restart what had come then comes once more */
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

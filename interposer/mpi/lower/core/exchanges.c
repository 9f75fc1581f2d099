/* MPI_Isendrecv and MPI_Isendrecv_replace (MPI-4.0, 3.10): the request is that of the receive, and the send is made
 * from a copy.  So they work over each MPI, and their status is right (MPICH 4.0's has no source, tag or count). */
#include <limits.h>
#include "lower/core/requests.h"

struct leaving {
	struct leaving *next;
	MPI_Request real;
	char bytes[];
};

static struct leaving *leaving;

static void reap(bool wait)
{
	for (struct leaving **at = &leaving; *at;) {
		struct leaving *one = *at;
		int gone = 0;

		if (wait)
			gone = BLOCKING(PMPI_Wait(&one->real, MPI_STATUS_IGNORE)) == MPI_SUCCESS;
		else if (PMPI_Test(&one->real, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			gone = 0;
		if (gone) {
			*at = one->next;
			free(one);
		} else {
			at = &one->next;
		}
	}
}

void exchanges_end(void)
{
	reap(true);
}

/* buf, count, datatype, dest, tag */
static int leave(const uint64_t *a, struct vcomm *comm)
{
	struct vtype *type = type_of(a[2]);
	MPI_Datatype as = REAL(MPI_Datatype, type->o.real);
	MPI_Comm real = REAL(MPI_Comm, comm->o.real);
	int count = (int)a[1], room = 0, packed = 0, rc = MPI_SUCCESS;
	bool copied = as != MPI_DATATYPE_NULL && count > 0 && (int)a[3] != MPI_PROC_NULL;
	struct leaving *one;
	size_t bytes = 0;

	if (copied && type->dense)
		bytes = (size_t)count * (size_t)type->size;
	else if (copied)
		rc = PMPI_Pack_size(count, as, real, &room);
	if (rc != MPI_SUCCESS)
		return rc;
	one = needed(malloc(sizeof(*one) + bytes + (size_t)room));
	if (copied && type->dense) {
		memcpy(one->bytes, (void *)a[0], bytes);
	} else if (copied) {
		rc = PMPI_Pack((void *)a[0], count, as, one->bytes, room, &packed, real);
		as = MPI_PACKED;
		count = packed;
	}
	if (rc == MPI_SUCCESS)
		rc = PMPI_Isend(copied ? one->bytes : (void *)a[0], count, as, (int)a[3], (int)a[4], real, &one->real);
	if (rc != MPI_SUCCESS) {
		free(one);
		return rc;
	}
	one->next = leaving;
	leaving = one;
	note_send(comm, (int)a[3], (int)a[4], (void *)a[0], (int)a[1], type, 0);
	return rc;
}

/* `sent`: buf, count, datatype, dest, tag; `received`: buf, count, datatype, source, tag; `upper`: the program's
 * request variable. */
static int64_t exchange(const uint64_t *sent, const uint64_t *received, uint64_t comm, uint64_t upper)
{
	struct vreq *request = receive_begin((void *)received[0], (int)received[1], type_of(received[2]), comm_of(comm),
					     received[0] == sent[0]);
	MPI_Request real;
	int rc;

	reap(false);
	request->blocking = false;
	rc = upper ? receive_start(request, (int)received[3], (int)received[4], &real) : MPI_ERR_ARG;
	if (rc != MPI_SUCCESS) {
		object_drop(&request->o);
		return rc;
	}
	request->o.real = BITS(real);
	request->order = receive_posted();
	request->asked_peer = (int)received[3];
	request->asked_tag = (int)received[4];
	rc = leave(sent, request->comm);
	if (rc != MPI_SUCCESS) {
		PMPI_Cancel(&real);
		PMPI_Wait(&real, MPI_STATUS_IGNORE);
		object_drop(&request->o);
		return rc;
	}
	put_handle((void **)upper, RDB_REQUEST, request->o.id);
	return rc;
}

/* sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request */
int64_t real_Isendrecv(const uint64_t *a)
{
	return exchange(a, a + 5, a[10], a[11]);
}

/* buf, count, datatype, dest, sendtag, source, recvtag, comm, request */
int64_t real_Isendrecv_replace(const uint64_t *a)
{
	return exchange(a, (const uint64_t[]){a[0], a[1], a[2], a[5], a[6]}, a[7], a[8]);
}

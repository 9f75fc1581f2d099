/* Messages that were under way at the cut are sent again, from copies, since the program may write to its buffers. */
#include "lower/objects/large.h"
#include "lower/restart/restart.h"

static const char *send_again(const char *name, const void *buf, int count, const struct vtype *type, int dest, int tag,
			      const struct vcomm *comm)
{
	MPI_Request request;
	int size = 0, position = 0, rc;
	char *copy;

	if (count > 0 && type->size > INT_MAX / count)
		return restart_refuse(name, "its message was under way, and has too many bytes to be sent again");
	if (PMPI_Pack_size(count, type->o.real, comm->o.real, &size) != MPI_SUCCESS)
		return restart_refuse(name, "its message could not be packed");
	copy = malloc((size_t)size + 1);
	if (!copy)
		return restart_refuse(name, "out of memory for a message");
	rc = PMPI_Pack(buf, count, type->o.real, copy, size, &position, comm->o.real);
	if (rc == MPI_SUCCESS)
		rc = PMPI_Isend(copy, position, MPI_PACKED, dest, tag, comm->o.real, &request);
	if (rc == MPI_SUCCESS)
		rc = PMPI_Request_free(&request);
	if (rc != MPI_SUCCESS)
		return restart_refuse(name, "its message could not be sent again");
	restart_journal_message(dest, tag, comm, copy, position);
	return NULL;
}

static const char *arguments(const char *name, const uint64_t *a, uint64_t comm)
{
	return send_again(name, (void *)a[0], (int)a[1], type_of(a[2]), rank_in((int)a[3]), (int)a[4], comm_of(comm));
}

/* The `which`-th send of MPI_Start or MPI_Startall. */
static const char *started(const char *name, const uint64_t *a, unsigned which)
{
	bool all = strstr(name, "Startall");
	void **upper = (void **)(all ? a[1] : a[0]);
	int count = all ? (int)a[0] : 1;

	for (int i = 0; i < count; i++) {
		const struct vreq *request = request_at(upper + i);

		if (request->receive || !request->comm || request->peer == MPI_PROC_NULL || which--)
			continue;
		return send_again(name, request->buf, request->count, request->type, request->peer, request->tag,
				  request->comm);
	}
	return restart_refuse(name, "it did not send that many messages");
}

const char *restart_message(unsigned index, uint32_t nargs, enum kind kind, const uint64_t *a, unsigned which)
{
	const char *name = real_functions[index].name;
	uint64_t large[TRANSLATION_ARGUMENTS];

	if (large_call(index, a))
		a = large_arguments(index, nargs, a, large);
	switch (kind) {
	case SENDS:
	case POSTS_SEND: return arguments(name, a, a[5]);
	case EXCHANGES:
	case POSTS_EXCHANGE: return arguments(name, a, strstr(name, "replace") ? a[7] : a[10]);
	case STARTS: return started(name, a, which);
	default: return restart_refuse(name, "one of its messages is under way and cannot be sent again");
	}
}

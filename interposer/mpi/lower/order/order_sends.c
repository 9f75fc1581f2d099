/* A whole-job replay: messages are sent as in the recording; the program waits for them only where it did then. */
#include "lower/order/order_expand.h"

enum {
	/* bytes; longer messages are sent from the program's buffer and waited for as in the recording */
	COPIED = 64 << 10,
	REAPED = 32 /* with so many sends pending, completed ones are looked for */
};

struct sending {
	struct sending *next;
	MPI_Request real;
	uint32_t id;   /* of the program's request, if the send is waited for with it; else 0 */
	int peer, tag; /* peer: rank in MPI_COMM_WORLD */
	void *copy;
};

unsigned order_sends_waited_for;

static struct {
	struct sending *first;
	unsigned count;
} leaving;

static void gone(struct sending **at)
{
	struct sending *one = *at;

	*at = one->next;
	leaving.count--;
	order_sends_waited_for -= one->id != 0;
	free(one->copy);
	free(one);
}

static void reap(void)
{
	for (struct sending **at = &leaving.first; *at;) {
		int flag = 0;

		if ((*at)->id || PMPI_Test(&(*at)->real, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || !flag)
			at = &(*at)->next;
		else
			gone(at);
	}
}

static void wait_for(struct sending **at)
{
	order_wait(&(*at)->real, MPI_STATUS_IGNORE, RDB_WAIT_RECEIVER, (*at)->peer, (*at)->tag);
	gone(at);
}

void order_sent(uint32_t id)
{
	for (struct sending **at = &leaving.first; *at; at = &(*at)->next) {
		if ((*at)->id != id)
			continue;
		wait_for(at);
		return;
	}
}

void order_drain(void)
{
	while (leaving.first)
		wait_for(&leaving.first);
}

static const char *copied(struct sending *one, const void **buf, int *count, MPI_Datatype *type, const struct vtype *of,
			  MPI_Comm comm)
{
	size_t bytes = of->dense ? (size_t)*count * (size_t)of->size : 0;
	int room = 0, packed = 0;

	if (!of->dense && (PMPI_Pack_size(*count, *type, comm, &room) != MPI_SUCCESS || room < 0))
		return "a message is too long to be packed";
	one->copy = malloc((of->dense ? bytes : (size_t)room) + 1);
	if (!one->copy)
		return "out of memory for a message";
	if (of->dense) {
		memcpy(one->copy, *buf, bytes);
	} else {
		if (PMPI_Pack(*buf, *count, *type, one->copy, room, &packed, comm) != MPI_SUCCESS)
			return "a message could not be packed";
		*type = MPI_PACKED;
		*count = packed;
	}
	*buf = one->copy;
	return NULL;
}

const char *order_send(const void *buf, int count, struct vtype *type, int dest, int tag, struct vcomm *comm, bool copy,
		       uint32_t id)
{
	MPI_Comm real_comm = REAL(MPI_Comm, comm->o.real);
	MPI_Datatype real_type = REAL(MPI_Datatype, type->o.real);
	struct sending *one;
	const char *why = NULL;

	if (dest == MPI_PROC_NULL)
		return NULL;
	if (leaving.count >= REAPED)
		reap();
	one = calloc(1, sizeof(*one));
	if (!one)
		return "out of memory for a message";
	if (copy || count * type->size <= COPIED)
		why = copied(one, &buf, &count, &real_type, type, real_comm);
	if (why && (!copy || id)) { /* MPICH cannot pack datatypes of absolute addresses: send from the buffer */
		why = NULL;
		free(one->copy);
		one->copy = NULL;
	}
	if (!one->copy && id) {
		one->id = id;
		order_sends_waited_for++;
	}
	one->peer = comm_world_rank(comm, dest);
	one->tag = tag;
	if (!why && PMPI_Isend(buf, count, real_type, dest, tag, real_comm, &one->real) != MPI_SUCCESS)
		why = "a message that was sent in the recording cannot be sent now";
	one->next = leaving.first;
	leaving.first = one;
	leaving.count++;
	if (!why && !one->copy && !id)
		wait_for(&leaving.first);
	return why;
}

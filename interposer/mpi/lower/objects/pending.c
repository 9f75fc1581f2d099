#include "lower/objects/large.h"
#include "lower/objects/pending.h"
#include "lower/objects/observer.h"

struct pending {
	struct pending *next; /* in the list of those with an operation of the program */
	struct staging staged;
	struct vop *op;
	struct vtype *type;
	void *handles[2];
	struct narrow narrow;
	struct vcomm *made; /* MPI_Comm_idup: the copy, which gets its real communicator when the request is complete */
	MPI_Comm real;
};

static struct pending *with_operation;

static struct pending *pending_new(struct vreq *request, struct vcomm *comm)
{
	struct pending *pending = needed(calloc(1, sizeof(*pending)));

	request->pending = pending;
	request->comm = object_hold(comm);
	request->active = true;
	return pending;
}

void pending_begin(struct vreq *request, struct vcomm *comm, struct staging *staged, struct vobject *op,
		   struct vtype *type, void *handles, void *more_handles)
{
	struct pending *pending = pending_new(request, comm);

	pending->staged = *staged;
	pending->handles[0] = handles;
	pending->handles[1] = more_handles;
	if (!op || op->id < RDB_FIRST_DYNAMIC)
		return;
	pending->op = object_hold(op);
	pending->type = object_hold(type);
	type->operations++; /* the program's function gets its handle */
	pending->next = with_operation;
	with_operation = pending;
	pending_operations++;
}

void pending_keep(struct vreq *request, struct narrow *narrow)
{
	request->pending->narrow = *narrow;
	narrow->n = 0;
}

/* There are no upcalls after this: from here to the end of the event only delivered data may change upper memory. */
static void operation_done(struct pending *pending)
{
	struct pending **link = &with_operation;

	if (!pending->op)
		return;
	while (*link != pending)
		link = &(*link)->next;
	*link = pending->next;
	pending_operations--;
	object_release(&pending->op->o);
	if (!--pending->type->operations && pending->type->freed)
		object_drop(&pending->type->o);
	object_release(&pending->type->o);
	pending->op = NULL;
}

bool pending_has_operation(const struct pending *pending)
{
	return pending->op != NULL;
}

bool pending_brings(const struct pending *pending)
{
	return pending->staged.part_count && !pending->made;
}

void pending_deliver(struct pending *pending)
{
	operation_done(pending);
	staging_deliver(&pending->staged);
	if (pending->made)
		comm_become(pending->made, pending->real, "MPI_Comm_idup");
}

void pending_deliver_part(struct pending *pending, unsigned part)
{
	if (part < pending->staged.part_count)
		staging_deliver_part(&pending->staged, part);
}

void pending_part_there(struct pending *pending, unsigned part)
{
	if (part < pending->staged.part_count)
		pending->staged.parts[part].delivered = true;
}

bool pending_part_is_there(const struct pending *pending, unsigned part)
{
	return part < pending->staged.part_count && pending->staged.parts[part].delivered;
}

void pending_again(struct pending *pending)
{
	staging_again(&pending->staged);
}

void pending_free(struct pending *pending)
{
	operation_done(pending);
	staging_end(&pending->staged);
	for (int i = 0; i < 2; i++)
		free(pending->handles[i]);
	narrow_end(&pending->narrow);
	if (pending->made)
		object_release(&pending->made->o);
	free(pending);
}

const struct vtype *pending_type(MPI_Datatype real)
{
	struct pending *pending = with_operation;

	while (pending && pending->type->o.real != BITS(real))
		pending = pending->next;
	return pending ? pending->type : NULL;
}

/* comm, newcomm, request: the program may not use the new handle before the request is complete, but it may copy it. */
int64_t real_Comm_idup(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[0]);
	struct vreq *request = request_new(NULL);
	struct pending *pending = pending_new(request, comm);
	int rc = PMPI_Comm_idup(comm->o.real, a[1] ? &pending->real : NULL,
				a[2] ? (MPI_Request *)&request->o.real : NULL);

	if (rc != MPI_SUCCESS) {
		object_drop(&request->o);
		return rc;
	}
	pending->made = object_hold(object_new(RDB_COMM, NULL));
	pending->made->context = comm_copy_context(comm);
	if (observer) /* named now: all ranks begin copies in the same order, but copies may complete in any order */
		pending->made->page_name = observer->comm_name(comm);
	put_handle((void **)a[1], RDB_COMM, pending->made->o.id);
	put_handle((void **)a[2], RDB_REQUEST, request->o.id);
	return rc;
}

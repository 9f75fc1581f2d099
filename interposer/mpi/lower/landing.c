/* Results of blocking collectives, kept out of upper memory until their event ends. */
#include <limits.h>
#include "real.h"

#define COPY_AT_ONCE (1 << 30) /* bytes */

void copy_typed(void *to, const void *from, int64_t count, const struct vtype *type)
{
	int64_t step = type->extent > 0 ? COPY_AT_ONCE / type->extent : INT_MAX;
	int rc;

	if (count <= 0 || type->size == 0)
		return;
	if (type->dense || (count == 1 && type->size == type->true_extent)) {
		memcpy((char *)to + type->true_lb, (const char *)from + type->true_lb,
		       (count - 1) * type->extent + type->true_extent);
		return;
	}
	/* a message to ourselves is the one copy that leaves out gaps and knows no limit of size */
	for (int64_t done = 0; done < count; done += step) {
		int n;

		if (step < 1)
			step = 1;
		n = (int)(count - done < step ? count - done : step);
		rc = PMPI_Sendrecv((const char *)from + done * type->extent, n, type->o.real, 0, 0,
				   (char *)to + done * type->extent, n, type->o.real, 0, 0, private_self(),
				   MPI_STATUS_IGNORE);
		if (rc != MPI_SUCCESS)
			host->fatal("elements of a datatype could not be copied: error %d", rc);
	}
}

void landing_begin(struct landing *land, void *upper)
{
	*land = (struct landing){.upper = upper, .buffer = upper, .before = true, .from = UINTPTR_MAX};
}

void landing_part(struct landing *land, void *upper, int64_t count, const struct vtype *type)
{
	MPI_Aint rest = (count - 1) * type->extent;
	uintptr_t from = (uintptr_t)upper + type->true_lb + (rest < 0 ? rest : 0);
	uintptr_t to = from + (rest < 0 ? -rest : rest) + type->true_extent;

	if (count <= 0 || type->size == 0 || !upper)
		return;
	if (land->before) {
		land->scattered |= type->blocks != NULL;
		land->from = from < land->from ? from : land->from;
		land->to = to > land->to ? to : land->to;
		return;
	}
	if (land->room)
		copy_typed(upper, land->buffer + ((char *)upper - land->upper), count, type);
	out_typed(upper, count, type);
}

void landing_vector(struct landing *land, void *upper, const int *counts, const int *displs, const struct vtype *type,
		    const struct vcomm *comm)
{
	/* before the call nobody has looked at the program's arguments yet */
	for (int i = 0; counts && displs && i < comm_peers(comm); i++)
		landing_part(land, (char *)upper + displs[i] * type->extent, counts[i], type);
}

void landing_ready(struct landing *land)
{
	land->before = false;
	/* absolute addresses: their span is no memory of the program; they change as the messages arrive */
	if (!host->shared() || land->from >= land->to || land->scattered)
		return;
	land->room = malloc(land->to - land->from);
	if (!land->room)
		host->fatal("out of memory for a collective of %zu bytes", (size_t)(land->to - land->from));
	/* with MPI_IN_PLACE it is input as well */
	memcpy(land->room, (void *)land->from, land->to - land->from);
	land->buffer = land->room + (land->upper - (char *)land->from);
}

void landing_end(struct landing *land)
{
	free(land->room);
}

/* Results of collectives, kept out of upper memory until the event that completes them ends. */
#include <limits.h>
#include <sys/mman.h>
#include "real.h"

#define FIRST_PAGE 4096
#define COPY_AT_ONCE (1 << 30) /* bytes */

/* Without a call in which the library would go on with other requests, and call the program's operations. */
static void copy_packed(void *to, const void *from, int count, const struct vtype *type)
{
	int bytes = (int)(count * type->size), packed = 0, unpacked = 0;
	char *room = malloc(bytes);

	if (!room)
		host->fatal("out of memory for a collective of %d bytes", bytes);
	if (PMPI_Pack(from, count, type->o.real, room, bytes, &packed, MPI_COMM_SELF) != MPI_SUCCESS ||
	    PMPI_Unpack(room, packed, &unpacked, to, count, type->o.real, MPI_COMM_SELF) != MPI_SUCCESS)
		host->fatal("elements of a datatype could not be copied");
	free(room);
}

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
	if (pending_operations && count * type->size <= COPY_AT_ONCE) {
		copy_packed(to, from, (int)count, type);
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
	*land = (struct landing){.upper = upper, .buffer = upper, .before = true, .keep = apart(), .from = UINTPTR_MAX};
}

void landing_keep(struct landing *land, void *upper)
{
	landing_begin(land, upper);
	land->keep = true;
}

static void part_add(struct landing *land, void *upper, int64_t count, const struct vtype *type, bool input)
{
	if (land->part_count == land->part_room) {
		land->part_room = land->part_room ? land->part_room * 2 : 4;
		land->parts = realloc(land->parts, land->part_room * sizeof(*land->parts));
		if (!land->parts)
			host->fatal("out of memory for a nonblocking collective");
	}
	land->parts[land->part_count++] = (struct landing_part){upper, count, object_hold((void *)type), false, input};
}

void landing_input(struct landing *land, void *upper, int64_t count, const struct vtype *type)
{
	unsigned before = land->part_count;

	landing_part(land, upper, count, type);
	if (land->part_count > before)
		land->parts[before].input = true;
}

void landing_part(struct landing *land, void *upper, int64_t count, const struct vtype *type)
{
	MPI_Aint rest = (count - 1) * type->extent;
	uintptr_t from = (uintptr_t)upper + type->true_lb + (rest < 0 ? rest : 0);
	uintptr_t to = from + (rest < 0 ? -rest : rest) + type->true_extent;

	/* not by `upper`, which is MPI_BOTTOM with absolute addresses */
	if (count <= 0 || type->size == 0 || from < FIRST_PAGE)
		return;
	if (land->before) {
		land->scattered |= type->blocks != NULL;
		land->from = from < land->from ? from : land->from;
		land->to = to > land->to ? to : land->to;
		if (land->keep)
			part_add(land, upper, count, type, false);
		return;
	}
	if (land->room)
		copy_typed(upper, land->buffer + ((char *)upper - land->upper), count, type);
	out_typed(upper, count, type);
}

static char *moved(const struct landing *land, void *upper)
{
	return land->buffer + ((char *)upper - land->upper);
}

/* With MPI_IN_PLACE results are input as well, and what the real MPI leaves alone must stay what it is. */
static void parts_copy_in(struct landing *land)
{
	for (unsigned i = 0; i < land->part_count; i++) {
		struct landing_part *part = &land->parts[i];
		const struct vtype *type = part->type;
		MPI_Aint rest = (part->count - 1) * type->extent;
		MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);

		if (type->blocks)
			copy_typed(moved(land, part->upper), part->upper, part->count, type);
		else
			memcpy(moved(land, part->upper) + first, part->upper + first,
			       (rest < 0 ? -rest : rest) + type->true_extent);
	}
}

/* Absolute addresses may be anywhere in the program: a copy of all that is between them is mapped, not used. */
static void *room_for(size_t bytes, bool scattered)
{
	void *room;

	if (!scattered)
		return malloc(bytes);
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return room == MAP_FAILED ? NULL : room;
}

void landing_ready(struct landing *land)
{
	land->before = false;
	if (!land->keep || land->from >= land->to)
		return;
	land->room = room_for(land->to - land->from, land->scattered);
	if (!land->room)
		host->fatal("out of memory for a collective of %zu bytes", (size_t)(land->to - land->from));
	land->buffer = land->room + (land->upper - (char *)land->from);
	parts_copy_in(land);
}

void landing_deliver_part(struct landing *land, unsigned which)
{
	struct landing_part *part = &land->parts[which];

	if (part->input || part->delivered)
		return;
	part->delivered = true;
	copy_typed(part->upper, moved(land, part->upper), part->count, part->type);
	out_typed(part->upper, part->count, part->type);
}

void landing_again(struct landing *land)
{
	for (unsigned i = 0; i < land->part_count; i++)
		land->parts[i].delivered = false;
}

void landing_deliver(struct landing *land)
{
	for (unsigned i = 0; i < land->part_count; i++)
		landing_deliver_part(land, i);
}

void landing_end(struct landing *land)
{
	for (unsigned i = 0; i < land->part_count; i++)
		object_release(&land->parts[i].type->o);
	free(land->parts);
	land->parts = NULL;
	land->part_count = 0;
	if (land->scattered && land->room)
		munmap(land->room, land->to - land->from);
	else
		free(land->room);
	land->room = NULL;
}

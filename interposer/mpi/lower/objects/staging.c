/* Results of collectives, kept out of upper memory until the event that completes them ends. */
#include <limits.h>
#include <sys/mman.h>
#include "lower/objects/observer.h"

#define FIRST_PAGE 4096
#define COPY_AT_ONCE (1 << 30) /* bytes */

/* Copies with MPI_Pack and MPI_Unpack: there the library makes no progress, so it calls no operation of the program. */
static void copy_packed(void *to, const void *from, int count, const struct vtype *type)
{
	int bytes = (int)(count * type->size), packed = 0, unpacked = 0;
	char *room = needed(malloc(bytes));

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
	/* only a message to ourselves leaves out gaps and has no limit of size */
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

bool kept_apart(void)
{
	return !observer && !host->passing();
}

void staging_begin(struct staging *staged, void *upper)
{
	*staged = (struct staging){
		.upper = upper, .buffer = upper, .before = true, .keep = apart(), .from = UINTPTR_MAX};
}

void staging_keep(struct staging *staged, void *upper)
{
	staging_begin(staged, upper);
	staged->keep = kept_apart();
}

static void part_add(struct staging *staged, void *upper, int64_t count, const struct vtype *type, bool input)
{
	if (staged->part_count == staged->part_room) {
		staged->part_room = staged->part_room ? staged->part_room * 2 : 4;
		staged->parts = needed(realloc(staged->parts, staged->part_room * sizeof(*staged->parts)));
	}
	staged->parts[staged->part_count++] = (struct staging_part){upper, count, object_hold((void *)type), false,
								    input};
}

void staging_input(struct staging *staged, void *upper, int64_t count, const struct vtype *type)
{
	unsigned before = staged->part_count;

	staging_part(staged, upper, count, type);
	if (staged->part_count > before)
		staged->parts[before].input = true;
}

void staging_sends(struct staging *staged, void *sendbuf, int64_t count, const struct vtype *type)
{
	staged->aliased = sendbuf && (sendbuf == staged->upper ||
				      ((uintptr_t)sendbuf >= staged->from && (uintptr_t)sendbuf < staged->to));
	if (staged->aliased)
		staging_input(staged, sendbuf, count, type);
}

void staging_part(struct staging *staged, void *upper, int64_t count, const struct vtype *type)
{
	MPI_Aint rest = (count - 1) * type->extent;
	uintptr_t from = (uintptr_t)upper + type->true_lb + (rest < 0 ? rest : 0);
	uintptr_t to = from + (rest < 0 ? -rest : rest) + type->true_extent;

	/* `from`, not `upper`: with absolute addresses `upper` is MPI_BOTTOM */
	if (count <= 0 || type->size == 0 || from < FIRST_PAGE)
		return;
	if (staged->before) {
		staged->scattered |= type->blocks != NULL;
		staged->from = from < staged->from ? from : staged->from;
		staged->to = to > staged->to ? to : staged->to;
		if (staged->keep)
			part_add(staged, upper, count, type, false);
		return;
	}
	if (staged->room)
		copy_typed(upper, staged->buffer + ((char *)upper - staged->upper), count, type);
	out_typed(upper, count, type);
}

static char *moved(const struct staging *staged, void *upper)
{
	return staged->buffer + ((char *)upper - staged->upper);
}

void *staging_sent(const struct staging *staged, void *sendbuf)
{
	return staged->aliased ? moved(staged, sendbuf) : sendbuf;
}

/* With MPI_IN_PLACE results are input as well; and bytes that the real MPI does not write must not change. */
static void parts_copy_in(struct staging *staged)
{
	for (unsigned i = 0; i < staged->part_count; i++) {
		struct staging_part *part = &staged->parts[i];
		const struct vtype *type = part->type;
		MPI_Aint rest = (part->count - 1) * type->extent;
		MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);

		if (type->blocks)
			copy_typed(moved(staged, part->upper), part->upper, part->count, type);
		else
			memcpy(moved(staged, part->upper) + first, part->upper + first,
			       (rest < 0 ? -rest : rest) + type->true_extent);
	}
}

/* Absolute addresses may be far apart: the range between them is mapped, but mostly untouched. */
static void *room_for(size_t bytes, bool scattered)
{
	void *room;

	if (!scattered)
		return malloc(bytes);
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return room == MAP_FAILED ? NULL : room;
}

void staging_ready(struct staging *staged)
{
	staged->before = false;
	if (!staged->keep || staged->from >= staged->to)
		return;
	staged->room = room_for(staged->to - staged->from, staged->scattered);
	if (!staged->room)
		host->fatal("out of memory for a collective of %zu bytes", (size_t)(staged->to - staged->from));
	staged->buffer = staged->room + (staged->upper - (char *)staged->from);
	parts_copy_in(staged);
}

void staging_deliver_part(struct staging *staged, unsigned which)
{
	struct staging_part *part = &staged->parts[which];

	if (part->input || part->delivered)
		return;
	part->delivered = true;
	copy_typed(part->upper, moved(staged, part->upper), part->count, part->type);
	out_typed(part->upper, part->count, part->type);
}

void staging_again(struct staging *staged)
{
	for (unsigned i = 0; i < staged->part_count; i++)
		staged->parts[i].delivered = false;
}

void staging_deliver(struct staging *staged)
{
	for (unsigned i = 0; i < staged->part_count; i++)
		staging_deliver_part(staged, i);
}

void staging_end(struct staging *staged)
{
	for (unsigned i = 0; i < staged->part_count; i++)
		object_release(&staged->parts[i].type->o);
	free(staged->parts);
	staged->parts = NULL;
	staged->part_count = 0;
	if (staged->scattered && staged->room)
		munmap(staged->room, staged->to - staged->from);
	else
		free(staged->room);
	staged->room = NULL;
}

#include "lower/objects/staged_read.h"
#include <sys/mman.h>
#include "lower/objects/real.h"

/* A range of absolute addresses is mostly untouched, so it is mapped. */
static void take_room(struct staged_read *flight, size_t bytes, ptrdiff_t first)
{
	flight->room_bytes = bytes;
	flight->mapped = flight->type->blocks != NULL;
	if (flight->mapped) {
		void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				  0);

		flight->room = needed(room == MAP_FAILED ? NULL : room);
	} else {
		flight->room = needed(malloc(bytes));
	}
	flight->buffer = (char *)flight->room - first;
}

struct staged_read *staged_begin(void *upper, int64_t count, struct vtype *type, bool counted)
{
	struct staged_read *flight = needed(calloc(1, sizeof(*flight)));
	MPI_Aint rest = (count - 1) * type->extent;
	MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);

	*flight = (struct staged_read){
		.upper = upper, .buffer = upper, .refs = 1, .counted = counted, .delivered = !kept_apart()};
	flight->type = object_hold(type);
	/* the real MPI refuses invalid arguments */
	if (flight->delivered || count <= 0 || type->size == 0 || (!upper && !type->blocks))
		return flight;
	flight->count = count;
	take_room(flight, (rest < 0 ? -rest : rest) + type->true_extent, first);
	if (counted) /* the rest of an incomplete last element must not change */
		copy_typed(flight->buffer, upper, count, type);
	return flight;
}

void staged_release(struct staged_read *flight)
{
	if (!flight || --flight->refs)
		return;
	if (flight->mapped)
		munmap(flight->room, flight->room_bytes);
	else
		free(flight->room);
	object_release(&flight->type->o);
	free(flight);
}

/* A program that unmaps its buffer too early is wrong, but without rdb it works if the bytes have arrived before. */
bool still_there(const void *upper, int64_t elements, const struct vtype *type)
{
	MPI_Aint rest = (elements - 1) * type->extent;
	uintptr_t from = (uintptr_t)upper + type->true_lb + (rest < 0 ? rest : 0);
	uintptr_t last = from + (rest < 0 ? -rest : rest) + type->true_extent - 1;
	char byte;

	/* not mincore(2), which takes longer than the delivery of a short message */
	return type->blocks ||
	       (host->copy(&byte, (const void *)from, 1) == 1 && host->copy(&byte, (const void *)last, 1) == 1);
}

void staged_deliver(struct staged_read *flight, const MPI_Status *status)
{
	struct vtype *type = flight->type;
	int64_t elements = flight->count, bytes;

	if (flight->delivered || !flight->room)
		return;
	flight->delivered = true;
	bytes = flight->counted ? status_bytes(status) : elements * type->size;
	if (bytes < elements * type->size)
		elements = (bytes + type->size - 1) / type->size;
	if (elements <= 0 || !still_there(flight->upper, elements, type))
		return;
	copy_typed(flight->upper, flight->buffer, elements, type);
	out_typed(flight->upper, elements, type);
}

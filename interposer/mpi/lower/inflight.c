#include "inflight.h"
#include <sys/mman.h>
#include <unistd.h>
#include "real.h"

#define MAPPED_FROM (1 << 20) /* bytes; of absolute addresses most are never touched */

static void take_room(struct inflight *flight, size_t bytes, ptrdiff_t first)
{
	flight->room_bytes = bytes;
	flight->mapped = bytes >= MAPPED_FROM;
	if (flight->mapped) {
		flight->room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				    -1, 0);
		flight->room = flight->room == MAP_FAILED ? NULL : flight->room;
	} else {
		flight->room = malloc(bytes);
	}
	if (!flight->room)
		host->fatal("out of memory for %zu bytes on their way", bytes);
	flight->buffer = (char *)flight->room - first;
}

struct inflight *inflight_begin(void *upper, int64_t count, struct vtype *type, bool counted)
{
	struct inflight *flight = calloc(1, sizeof(*flight));
	MPI_Aint rest = (count - 1) * type->extent;
	MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);

	if (!flight)
		host->fatal("out of memory in the MPI boundary");
	*flight = (struct inflight){.upper = upper, .buffer = upper, .refs = 1, .counted = counted};
	flight->type = object_hold(type);
	/* arguments that are none are the real MPI's to refuse */
	if (count <= 0 || type->size == 0 || (!upper && !type->blocks))
		return flight;
	flight->count = count;
	take_room(flight, (rest < 0 ? -rest : rest) + type->true_extent, first);
	if (counted) /* of an element that comes in part the rest stays */
		copy_typed(flight->buffer, upper, count, type);
	return flight;
}

void inflight_release(struct inflight *flight)
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

/* A program that gives its memory back too early is wrong, and goes on without rdb, where the bytes have come before. */
bool still_there(const void *upper, int64_t elements, const struct vtype *type)
{
	MPI_Aint rest = (elements - 1) * type->extent;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)upper + type->true_lb + (rest < 0 ? rest : 0);
	uintptr_t to = from + (rest < 0 ? -rest : rest) + type->true_extent;
	unsigned char first, last;

	if (type->blocks)
		return true;
	return !mincore((void *)(from & ~(page - 1)), 1, &first) &&
	       !mincore((void *)((to - 1) & ~(page - 1)), 1, &last);
}

void inflight_deliver(struct inflight *flight, const MPI_Status *status)
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

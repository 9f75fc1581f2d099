#include "lower/core/lean.h"

enum {
	LARGE = 64 << 10, /* bytes: below, a copy costs less than it would cost to make the message again */
	PIECE = 512 << 10 /* of a note */
};
#define LARGEST (1ll << 30)

/* A message between two ranks of this MPI_COMM_WORLD that is neither small nor so long that its part of the log would
 * be in pieces. */
static bool applies(const struct vcomm *comm, int peer, int64_t bytes)
{
	return host->lean && host->recording() && bytes >= LARGE && bytes < LARGEST && comm_world_rank(comm, peer) >= 0;
}

/* Whether one element is sent as it lies in memory, by sending one: each of its bytes differs from those around it. */
static bool sent_in_order(const struct vtype *type)
{
	const size_t size = (size_t)type->size;
	uint8_t *memory = needed(malloc(2 * size)), *sent = memory + size;
	int packed = 0;
	uint32_t state = 1;
	bool same;

	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		memory[i] = (uint8_t)(state >> 24);
	}
	memset(sent, 0, size);
	same = size <= INT32_MAX &&
	       PMPI_Pack(memory, 1, type->o.real, sent, (int)size, &packed, MPI_COMM_SELF) == MPI_SUCCESS &&
	       (size_t)packed == size && !memcmp(memory, sent, size);
	free(memory);
	return same;
}

/* Does memory have the elements without gaps, in the order in which they are sent? */
static bool plain(struct vtype *type)
{
	if (type->o.id < RDB_FIRST_DYNAMIC || !type->dense)
		return type->dense;
	if (!type->order)
		type->order = sent_in_order(type) ? SENT_AS_IT_LIES : SENT_OTHERWISE;
	return type->order == SENT_AS_IT_LIES;
}

bool lean_receive(struct vcomm *comm, const MPI_Status *status, int64_t bytes, struct vtype *type)
{
	return applies(comm, status->MPI_SOURCE, bytes) && plain(type);
}

void lean_keep(const void *buf, int64_t count, struct vtype *type, const struct vcomm *comm, int dest, bool always)
{
	int room = 0, packed = 0;
	char *bytes;

	if (dest == MPI_PROC_NULL || !buf || !applies(comm, dest, count * type->size) || (!always && plain(type)))
		return;
	if (PMPI_Pack_size((int)count, type->o.real, comm->o.real, &room) != MPI_SUCCESS || room <= 0)
		return; /* the receiver's recording says that the message is missing */
	bytes = needed(malloc((size_t)room));
	if (PMPI_Pack(buf, (int)count, type->o.real, bytes, room, &packed, comm->o.real) == MPI_SUCCESS)
		for (int at = 0; at < packed; at += PIECE)
			host->note(RDB_NOTE_KEPT, bytes + at, packed - at < PIECE ? packed - at : PIECE);
	free(bytes);
}

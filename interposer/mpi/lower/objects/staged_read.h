/* Data that the real MPI writes at any time before a call completes it: one-sided reads, nonblocking and split reads of
 * files.  With a log, it is written to lower memory, and copied to the program's buffer at the call that completes it,
 * without the datatype's gaps. */
#pragma once
#include "lower/objects/objects.h"

struct staged_read {
	struct staged_read *next; /* of the same window, in the order of their begin */
	void *upper;
	char *buffer; /* buffer for the real MPI */
	int64_t count;
	struct vtype *type;
	void *room;
	size_t room_bytes;
	int target;      /* of a window: rank whose memory is read */
	uint64_t number; /* among the reads of the window, from 1 */
	int refs;
	bool mapped, delivered;
	bool counted; /* the status says how many bytes were read */
};

struct staged_read *staged_begin(void *upper, int64_t count, struct vtype *type, bool counted);
static inline struct staged_read *staged_hold(struct staged_read *flight)
{
	flight->refs++;
	return flight;
}
void staged_release(struct staged_read *flight);
/* Whether the program's memory of these elements is still mapped. */
bool still_there(const void *upper, int64_t elements, const struct vtype *type);
/* Delivers the data; later calls do nothing.  `status` may be NULL unless `counted`. */
void staged_deliver(struct staged_read *flight, const MPI_Status *status);

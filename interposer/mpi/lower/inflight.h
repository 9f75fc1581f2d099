/* What the real MPI will write for the program at a time of its own choosing: one-sided reads, nonblocking and split
 * reads of files.  It writes to lower memory; the program's buffer gets it at the call that completes it, without a
 * datatype's gaps. */
#ifndef RDB_MPI_INFLIGHT_H
#define RDB_MPI_INFLIGHT_H
#include "objects.h"

struct inflight {
	struct inflight *next; /* of one window, in the order in which they were begun */
	void *upper;
	char *buffer; /* what the real MPI is given */
	int64_t count;
	struct vtype *type;
	void *room;
	size_t room_bytes;
	int target; /* of a window: whose memory is read */
	int refs;
	bool mapped, delivered;
	bool counted; /* less than all may come: the status says how much */
};

struct inflight *inflight_begin(void *upper, int64_t count, struct vtype *type, bool counted);
static inline struct inflight *inflight_hold(struct inflight *flight)
{
	flight->refs++;
	return flight;
}
void inflight_release(struct inflight *flight);
/* Is the program's memory of these elements still mapped? */
bool still_there(const void *upper, int64_t elements, const struct vtype *type);
/* Once; `status` may be NULL where all has come. */
void inflight_deliver(struct inflight *flight, const MPI_Status *status);

#endif

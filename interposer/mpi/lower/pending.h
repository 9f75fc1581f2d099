/* Nonblocking collectives: what they keep until their request is complete. */
#ifndef RDB_MPI_PENDING_H
#define RDB_MPI_PENDING_H
#include "real.h"

/* The request of a nonblocking collective that has begun: takes over `land` and the arrays of handles
 * (either may be NULL).  `op` and `type` are those of a reduction. */
void pending_begin(struct vreq *request, struct vcomm *comm, struct landing *land, struct vobject *op,
		   struct vtype *type, void *handles, void *more_handles);
/* Arrays that the real MPI may still look at, until then. */
struct narrow;
void pending_keep(struct vreq *request, struct narrow *narrow);
/* Complete: the results reach the program. */
void pending_deliver(struct pending *pending);
/* Of a partitioned receive, whose parts arrive one by one: this one has; and it is started again. */
void pending_deliver_part(struct pending *pending, unsigned part);
void pending_again(struct pending *pending);
/* The program has this part already; has it? */
void pending_part_there(struct pending *pending, unsigned part);
bool pending_part_is_there(const struct pending *pending, unsigned part);
void pending_free(struct pending *pending);

/* The datatype of a reduction that is going on; the program may have freed its handle. */
const struct vtype *pending_type(MPI_Datatype real);

/* Are there results, and nothing else that happens when it is complete? */
bool pending_brings(const struct pending *pending);

/* Of the program's own? */
bool pending_has_operation(const struct pending *pending);

#endif

/* State of nonblocking collectives until their request is complete. */
#pragma once
#include "lower/objects/real.h"

/* Attaches the state to the request of a nonblocking collective that has begun.  Takes over `staged` and the arrays of
 * handles, which may be NULL.  `op` and `type` are those of a reduction. */
void pending_begin(struct vreq *request, struct vcomm *comm, struct staging *staged, struct vobject *op,
		   struct vtype *type, void *handles, void *more_handles);
/* Keeps arrays that the real MPI may read until the request is complete. */
struct narrow;
void pending_keep(struct vreq *request, struct narrow *narrow);
/* Complete: delivers the results to the program. */
void pending_deliver(struct pending *pending);
/* Partitioned receive: delivers a part; prepares for another start. */
void pending_deliver_part(struct pending *pending, unsigned part);
void pending_again(struct pending *pending);
/* Partitioned receive: marks a part as delivered; whether it is. */
void pending_part_there(struct pending *pending, unsigned part);
bool pending_part_is_there(const struct pending *pending, unsigned part);
void pending_free(struct pending *pending);

/* Finds the datatype of a pending reduction, whose handle the program may have freed.  NULL: none. */
const struct vtype *pending_type(MPI_Datatype real);

/* Whether completion does nothing but deliver results. */
bool pending_brings(const struct pending *pending);

/* Whether it is a reduction with an operation of the program. */
bool pending_has_operation(const struct pending *pending);

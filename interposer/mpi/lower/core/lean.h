/* --record=lean: the bytes of a large message are not in the receiver's log.  They are made again from the recording of
 * the sender, whose memory has them at the event of the send (replay/deliver.h). */
#pragma once
#include "lower/objects/real.h"

/* Are the bytes of this message to be made again?  The receiver's type must have them in one piece, in its order. */
bool lean_receive(struct vcomm *comm, const MPI_Status *status, int64_t bytes, struct vtype *type);
/* Before or after a send, while its buffer is unchanged, and before its note: logs the bytes if they are not in one
 * piece in memory, or `always`. */
void lean_keep(const void *buf, int64_t count, struct vtype *type, const struct vcomm *comm, int dest, bool always);

/* In a replay: a program that does nothing but look at memory until an RDMA device has written there.
 *
 * While it was recorded it saw the bytes as they came; the log has them with the next event, to which the replay
 * would never get.  So after each event that is followed by such bytes the replay finds out whether the program
 * would look for ever; then it has them at once.  Which looks came before is not known, and makes no difference to
 * a program that does not count them: where it does, hashes of memory tell.
 */
#ifndef RDB_LOOKS_H
#define RDB_LOOKS_H
#include "crossing/event.h"

struct gate_frame;

/* After an event was answered; uc: the context after it, or NULL: after looks_returning(). */
void looks_ahead(const ucontext_t *uc);
/* A hypercall is about to return that to the program. */
void looks_returning(const struct gate_frame *frame, int64_t result);

#endif

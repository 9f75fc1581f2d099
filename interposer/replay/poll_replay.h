/* In a replay: a program that does nothing but look at memory until an RDMA device has written there.
 *
 * While it was recorded it saw the bytes as they came.  The log has them with the next event, which the replay would
 * never reach.  So after each event that is followed by such bytes the replay finds out whether the program would look
 * for ever; then it applies them at once.  How often the program looked before is not known.  If the program counts its
 * looks, hashes of memory show the difference.
 */
#pragma once
#include "crossing/event.h"

struct gate_frame;

/* After an event was answered; uc: the context after it, or NULL: after poll_replay_returning(). */
void poll_replay_ahead(const ucontext_t *uc);
/* A hypercall is about to return `result` to the program. */
void poll_replay_returning(const struct gate_frame *frame, int64_t result);

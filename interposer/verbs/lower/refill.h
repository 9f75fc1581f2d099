/* Completions that a restart gives to the program over a provider that cannot put them into its own queues: they are
 * polled first, and channels whose events they are can be read. */
#ifndef RDB_VERBS_REFILL_H
#define RDB_VERBS_REFILL_H
#include "plugin.h"

extern bool refilled; /* there may be some */

/* Of a channel or a context, the descriptor to be shown in place of the provider's: it can be read when that can, or when there is an event of
 * ours.  Or -errno. */
int refill_channel(const struct object *channel, int fd);
/* An asynchronous event for the program; the type of the next one and its object, or -1.  Those of objects that are gone
 * are left out. */
int refill_add_async(const struct object *context, int type, const struct object *of);
int refill_async(const struct object *context, const struct object **of);
/* 0 or -errno */
int refill_queue(const struct object *cq, const struct verbs_queued *queued);
/* How many of ours it was given. */
int refill_poll(const struct object *cq, int n, struct ibv_wc *wc);
/* The queue of the next event of ours, or NULL. */
const struct object *refill_event(const struct object *channel);
/* A queue pair is reset or gone: its completions are, too. */
void refill_forget(const struct object *qp);
void refill_gone(const struct object *cq);

#endif

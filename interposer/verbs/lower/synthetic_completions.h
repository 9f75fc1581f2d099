/* Completions and events that a restart gives to the program where the provider cannot put them into its own queues.
 * Polls return them first, and the descriptors of channels and contexts are readable while there are such events. */
#pragma once
#include "plugin.h"

extern bool synthetic; /* there may be synthetic completions or events */

/* Makes the descriptor of a channel or context that is shown in place of the provider's `fd`: readable if `fd` is, or
 * if there is an event of ours.  -errno on failure. */
int synthetic_channel(const struct object *channel, int fd);
/* Adds an asynchronous event; 0 or -errno. */
int synthetic_add_async(const struct object *context, int type, const struct object *of);
/* Takes the next asynchronous event; returns its type, or -1 if there is none.  Skips events of destroyed objects. */
int synthetic_async(const struct object *context, const struct object **of);
/* Adds a completion queue's completions and events.  0 or -errno */
int synthetic_queue(const struct object *cq, const struct verbs_queued *queued);
/* Takes up to n completions; returns their number. */
int synthetic_poll(const struct object *cq, int n, struct ibv_wc *wc);
/* Takes the next event of a channel; returns its completion queue, or NULL. */
const struct object *synthetic_event(const struct object *channel);
/* A queue pair was reset or is being destroyed: drops its completions. */
void synthetic_forget(const struct object *qp);
/* A completion queue is being destroyed: drops its completions and events. */
void synthetic_gone(const struct object *cq);

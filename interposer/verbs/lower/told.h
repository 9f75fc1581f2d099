/* Which memory of the program a completion tells it of: what the request was to fill that it completes, and those
 * before it in its queue.  Nothing else has to be looked at then (space/device_memory.h), however much is registered.
 * Where that is not known for sure the answer is: all of it. */
#ifndef RDB_VERBS_TOLD_H
#define RDB_VERBS_TOLD_H
#include "plugin.h"

/* A request that the device has taken. */
void told_posted_send(struct object *qp, const struct ibv_send_wr *wr);
void told_posted_recv(struct object *qp, const struct ibv_recv_wr *wr);
/* Requests are in its queues that nobody has said. */
void told_lost(struct object *qp);
/* The queues are empty (RESET), or gone with their queue pair. */
void told_empty(struct object *qp);
/* In a forked child: all of them. */
void told_forget(void);
/* Registered where addresses in requests are not the program's. */
void told_elsewhere(void);
/* What a poll gives the program. */
void told_completed(const struct ibv_wc *wc, int n);

#endif

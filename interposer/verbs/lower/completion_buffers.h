/* Buffers that a completion reports as filled: those of its request and of earlier unsignaled requests of the same
 * queue.  Only these have to be compared then (space/device_memory.h), however much is registered.  Where they are not
 * known for sure, all registered memory is compared. */
#pragma once
#include "plugin.h"

/* The device has accepted this request. */
void completion_buffers_posted_send(struct object *qp, const struct ibv_send_wr *wr);
void completion_buffers_posted_recv(struct object *qp, const struct ibv_recv_wr *wr);
/* The queue pair got a request that was not reported here. */
void completion_buffers_lost(struct object *qp);
/* Its queues are empty now (RESET), or the queue pair is being destroyed. */
void completion_buffers_empty(struct object *qp);
/* In a forked child: forgets all queue pairs. */
void completion_buffers_forget(void);
/* A region was registered whose addresses in requests differ from those of the memory. */
void completion_buffers_elsewhere(void);
/* A poll returns these completions; tells the host which memory to compare. */
void completion_buffers_completed(const struct ibv_wc *wc, int n);

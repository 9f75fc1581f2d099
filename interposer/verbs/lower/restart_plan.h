/* Plan of a restart: requests to post again, completions and events to give to the program.  rdb/live/verbs/cut.py
 * writes it from the logs. */
#pragma once
#include "plugin.h"

enum { PLAN_RANKS = 65536 };

/* A request that was outstanding at the cut.  ordinal: its number in its queue, from 0 since the queue was made. */
struct plan_request {
	bool send;
	uint32_t object, ordinal;
	union {
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	} wr; /* our copy; valid once the program has posted the request (have) */
	bool have;
	bool answered; /* an atomic that was carried out; `value` is its result */
	bool now;      /* a READ that was carried out and whose completion is in its queue: done again at the cut */
	uint64_t value;
};

struct plan_queue {
	uint32_t object;
	struct verbs_queued queued;
};

struct plan {
	int *ranks; /* ranks that use verbs */
	unsigned nranks, nrequests, nqueues, nfailed, nasync, nlimits;
	struct plan_request *requests; /* by (send, object, ordinal) */
	struct plan_queue *queues;
	uint32_t *failed; /* queue pairs in the ERR state */
	struct plan_async {
		uint32_t context, type, object;
	} * async; /* asynchronous events not fetched yet */
	struct plan_limit {
		uint32_t object, limit;
	} * limits; /* of shared receive queues; armed and not reached */
};

/* NULL, or the reason of a failure. */
const char *plan_read(const char *path, struct plan *plan);
/* NULL: the request was not outstanding. */
struct plan_request *plan_request(const struct plan *plan, bool send, uint32_t object, uint32_t ordinal);

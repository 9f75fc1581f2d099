/* What a restart has to post again and to give to the program, as rdb/live/verbs/cut.py made it out from the logs. */
#ifndef RDB_VERBS_RESTART_PLAN_H
#define RDB_VERBS_RESTART_PLAN_H
#include "plugin.h"

enum { PLAN_RANKS = 65536 };

/* A request that was outstanding at the cut: the how-manieth of its queue since that was made. */
struct plan_request {
	bool send;
	uint32_t object, ordinal;
	union {
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	} wr; /* a copy of ours, once the program has posted it */
	bool have;
	bool answered; /* an atomic that was carried out: this came of it */
	bool now;      /* a READ that was, whose completion waits in its queue: at the cut */
	uint64_t value;
};

struct plan_queue {
	uint32_t object;
	struct verbs_queued queued;
};

struct plan {
	int *ranks; /* those that use verbs */
	unsigned nranks, nrequests, nqueues, nfailed, nasync, nlimits;
	struct plan_request *requests; /* by (send, object, ordinal) */
	struct plan_queue *queues;
	uint32_t *failed; /* queue pairs in the ERR state */
	struct plan_async {
		uint32_t context, type, object;
	} * async; /* asynchronous events that nobody had asked for */
	struct plan_limit {
		uint32_t object, limit;
	} * limits; /* of shared receive queues, that were not reached */
};

/* NULL, or what is wrong with it. */
const char *plan_read(const char *path, struct plan *plan);
/* NULL: it was not outstanding. */
struct plan_request *plan_request(const struct plan *plan, bool send, uint32_t object, uint32_t ordinal);

#endif

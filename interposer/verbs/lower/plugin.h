/* The verbs plug-in: maps ids to objects, calls the provider and keeps account of the objects.  Runs in the lower half,
 * never in a replay. */
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "interface/host.h"
#include "protocol.h"
#include "provider.h"

extern const struct rdb_host *host;
extern const struct verbs_provider *provider;

/* Quick poll (host.h, quick).  True: the queue is empty.  Completions that it finds are returned by verbs_poll_cq(),
 * which must follow. */
bool verbs_polls_nothing(const uint64_t *args);

/* work.c: report the memory that lists of work requests refer to. */
void verbs_sent(const struct ibv_send_wr *wr);
void verbs_receives(const struct ibv_recv_wr *wr);

enum kind { CONTEXT = 1, PD, MR, MW, CHANNEL, CQ, SRQ, QP, AH };
enum { PARENTS = 4 };

/* After a restart: an address handle for each rank that was at one address. */
struct ah_now {
	struct ah_now *next;
	int rank;
	void *handle;
};

/* An object of the program, with all that is needed to make it again. */
struct object {
	enum kind kind;
	uint32_t id;
	void *handle;    /* the provider's */
	uint64_t cookie; /* the program's */
	struct object *parents[PARENTS];
	unsigned users; /* objects made from it */
	union {
		struct {
			unsigned device;
			int shown_fd;
		} context;
		int shown_fd; /* channel */
		struct {
			uint64_t addr, length, iova;
			unsigned access;
			uint32_t lkey, rkey;
		} mr;
		struct {
			int type;
			uint32_t rkey;
			bool bound;      /* the rest is valid only then */
			uint32_t qp, mr; /* ids: bound by qp to mr */
			struct ibv_mw_bind_info to;
		} mw;
		struct {
			int entries, vector;
		} cq;
		struct ibv_srq_init_attr srq;
		struct {
			struct ibv_qp_init_attr init;
			uint32_t number;
			struct completion_buffers *buffers; /* completion_buffers.h; NULL: no request yet */
			int rank;                           /* of the peer, after a restart (numbers.h) */
			struct ibv_qp_attr is;              /* as the program has set it */
			int masks[IBV_QPS_RTS + 1];         /* by state: mask of the transition to this state */
		} qp;
		struct {
			struct ibv_ah_attr attr;
			struct ah_now *now;
		} ah;
	} made;
};

/* NULL: there is no object of this id and kind. */
struct object *object_find(uint64_t id, enum kind kind);
/* Finds an object by the provider's handle; NULL: none. */
struct object *object_of(const void *handle, enum kind kind);
/* Adds a copy of `made`, whose creation returned `rc`.  Returns its id, or `rc` if that is an error. */
int64_t object_made(int rc, struct object *made);
/* Destroys an object if the provider's `destroy` succeeds; -EBUSY: it has users. */
int64_t object_destroy(uint64_t id, enum kind kind, int (*destroy)(void *handle));
/* By kind: the call that destroys an object of this kind. */
extern int64_t (*const *object_ends)(const uint64_t *a);
/* Destroys all objects made from this context, newest first. */
void objects_destroy_of(const struct object *context);
/* In a forked child: forgets all objects. */
void objects_forget(void);
/* Iterates over existing objects, oldest first.  *next begins at 0.  NULL: no more. */
struct object *object_next(uint32_t *next);
/* Number of ids given so far. */
uint32_t objects_ids(void);
/* The context that an object was made from. */
const struct object *object_context(const struct object *o);
/* Marks the ids up to n as given. */
void objects_ids_used(uint32_t n);
/* Adds a copy of an object under the id it had.  The caller sets its parents. */
struct object *object_again(const struct object *was);

/* Duplicates a descriptor of the provider for the program, with the lowest free number, as without rdb.  Returns the
 * duplicate or -errno. */
int descriptor_shown(int fd);

/* Kind of the object that an asynchronous event belongs to; 0: port or device. */
enum kind event_kind(int type);

/* Writes to upper memory and reports it. */
static inline void put(uint64_t upper, const void *value, size_t len)
{
	if (!upper || !len)
		return;
	memcpy((void *)upper, value, len);
	host->out((void *)upper, len);
}

/* restart.c */
const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result);
/* In a branch, of a rank that had not used verbs before the cut: reads the other ranks' numbers.  NULL, or the reason
 * of a failure. */
const char *restart_join(void);
/* Requests that a restart posts again wait until the program has gone on; then restart_post() posts them. */
extern bool restart_posts_wait;
void restart_post(void);
/* Starts the provider; NULL: it cannot be used. */
const struct verbs_provider *provider_choose(const char *hca);
const struct verbs_provider *provider_started(const struct verbs_provider *p);
extern struct verbs_above provider_above; /* passed to each provider */
/* On the way to a cut: a provider that does nothing. */
extern const struct verbs_provider provider_shadow;
/* Keeps account of a successful ibv_modify_qp. */
void qp_modified(struct object *qp, const struct ibv_qp_attr *attr, int mask);
/* Changes the peer's number and address to the current ones; returns its rank or NUMBERS_NO_RANK. */
int qp_peer(struct ibv_qp_attr *attr);
/* recreate.c: make the program's objects again.  NULL, or the reason of a failure. */
const char *recreate_objects(void);
const char *recreate_connections(void);
const char *recreate_binds(void);
/* Number of requests that a restart has posted to a queue pair for itself; `number` is the provider's. */
uint32_t recreated_requests(uint32_t number);
/* This queue pair was reset or destroyed. */
void recreated_forget(uint32_t number);

#define FIND(var, id, kind) \
	struct object *var = object_find(id, kind); \
	if (!var) \
	return -EINVAL

typedef int64_t verbs_fn(const uint64_t *a);
#define CALL(number, function, name) verbs_fn verbs_##function;
#include "calls.def"
#undef CALL

/* The side of verbs that calls a provider: ids to objects, and what the calls did.  Runs in the lower half,
 * never in a replay. */
#ifndef RDB_VERBS_LOWER_H
#define RDB_VERBS_LOWER_H
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "crossing/host.h"
#include "protocol.h"
#include "provider.h"

extern const struct rdb_host *host;
extern const struct verbs_provider *provider;

/* A poll that is to find nothing (host.h, quick); what it finds all the same, verbs_poll_cq() gives. */
bool verbs_polls_nothing(const uint64_t *args);

/* work.c: what lists of work requests hand out. */
void verbs_sent(const struct ibv_send_wr *wr);
void verbs_receives(const struct ibv_recv_wr *wr);

enum kind { CONTEXT = 1, PD, MR, MW, CHANNEL, CQ, SRQ, QP, AH };
enum { PARENTS = 4 };

/* After a restart: where the ranks are that were at one address. */
struct ah_now {
	struct ah_now *next;
	int rank;
	void *handle;
};

/* What a program has made, with all that is needed to make it again. */
struct object {
	enum kind kind;
	uint32_t id;
	void *handle;    /* the provider's */
	uint64_t cookie; /* the program's */
	struct object *parents[PARENTS];
	unsigned users; /* objects made of it */
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
			bool bound;      /* if so, by what and to what */
			uint32_t qp, mr; /* ids */
			struct ibv_mw_bind_info to;
		} mw;
		struct {
			int entries, vector;
		} cq;
		struct ibv_srq_init_attr srq;
		struct {
			struct ibv_qp_init_attr init;
			uint32_t number;
			struct told *told;     /* told.h; NULL: nothing yet */
			int rank;              /* of the peer, after a restart (numbers.h) */
			struct ibv_qp_attr is; /* as the program has set it, with the masks that made its states */
			int masks[IBV_QPS_RTS + 1];
		} qp;
		struct {
			struct ibv_ah_attr attr;
			struct ah_now *now;
		} ah;
	} made;
};

/* NULL: there is none of that kind. */
struct object *object_find(uint64_t id, enum kind kind);
/* By the provider's handle. */
struct object *object_of(const void *handle, enum kind kind);
/* A failure is given back as it is: `rc` is what the provider said.  -> id or -errno */
int64_t object_made(int rc, struct object *made);
/* Around the provider's destroy call. */
int64_t object_destroy(uint64_t id, enum kind kind, int (*destroy)(void *handle));
/* All that was made of it, the newest first. */
void objects_destroy_of(const struct object *context);
/* In a forked child: none of them can be used any more. */
void objects_forget(void);
/* Oldest first; those that are gone are left out.  `next` begins at 0. */
struct object *object_next(uint32_t *next);
/* How many ids have been given; so many are; one under the id that it had, whose parents the caller finds. */
uint32_t objects_ids(void);
const struct object *object_context(const struct object *o);
void objects_ids_used(uint32_t n);
struct object *object_again(const struct object *was);

/* The program's own duplicate of a provider's descriptor, with the lowest free number, as it would have been without
 * rdb.  -errno */
int descriptor_shown(int fd);

/* Whose event it is; 0: of a port, or of the device. */
enum kind event_kind(int type);

/* Writes to upper memory and says so. */
static inline void put(uint64_t upper, const void *value, size_t len)
{
	if (!upper || !len)
		return;
	memcpy((void *)upper, value, len);
	host->out((void *)upper, len);
}

/* restart.c */
const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result);
/* A branch whose rank begins with verbs only now: who the others are.  NULL, or why not. */
const char *restart_join(void);
/* Requests that a restart has to post again wait for the program to go on. */
extern bool restart_posts_wait;
void restart_post(void);
/* That provider, started, or NULL; on the way to a cut, one that does nothing. */
const struct verbs_provider *provider_choose(const char *hca);
extern const struct verbs_provider provider_shadow;
/* What a modification leaves behind. */
void qp_modified(struct object *qp, const struct ibv_qp_attr *attr, int mask);
/* Where the peer of these attributes is now; its rank. */
int qp_peer(struct ibv_qp_attr *attr);
/* recreate.c: the objects of the program, made again.  NULL, or why not. */
const char *recreate_objects(void);
const char *recreate_connections(void);
const char *recreate_binds(void);
/* Requests that a restart has made by that queue pair (of the provider's number), which are not the program's. */
uint32_t recreated_requests(uint32_t number);
void recreated_forget(uint32_t number);

#define FIND(var, id, kind) \
	struct object *var = object_find(id, kind); \
	if (!var) \
	return -EINVAL

typedef int64_t verbs_fn(const uint64_t *a);
verbs_fn verbs_devices, verbs_open, verbs_close, verbs_query_device, verbs_query_port, verbs_query_gid,
	verbs_query_pkey, verbs_async_event, verbs_fork;
verbs_fn verbs_alloc_pd, verbs_dealloc_pd, verbs_reg_mr, verbs_rereg_mr, verbs_dereg_mr, verbs_alloc_mw,
	verbs_dealloc_mw, verbs_bind_mw, verbs_create_ah, verbs_destroy_ah;
verbs_fn verbs_create_channel, verbs_destroy_channel, verbs_create_cq, verbs_resize_cq, verbs_destroy_cq, verbs_poll_cq,
	verbs_notify_cq, verbs_cq_event;
verbs_fn verbs_create_srq, verbs_modify_srq, verbs_query_srq, verbs_destroy_srq, verbs_post_srq_recv;
verbs_fn verbs_create_qp, verbs_modify_qp, verbs_query_qp, verbs_destroy_qp, verbs_post_send, verbs_post_recv,
	verbs_attach_mcast, verbs_detach_mcast;

#endif

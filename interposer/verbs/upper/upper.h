/* The upper half's libibverbs.so.1: rdma-core's ABI in front of the gate.
 *
 * It is part of the program, and deterministic apart from the gate's answers.  Its structs are those of
 * <infiniband/verbs.h>, followed by members of our own; `handle` is the object's id in the lower half (protocol.h).
 * rdma-core's man pages, section 3, describe the functions.
 */
#pragma once
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "arch/gate_call.h"
#include "protocol.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

#define EXPORT __attribute__((visibility("default")))

struct context {
	struct verbs_context verbs; /* the program has a pointer to its last member */
	uint32_t id;
	uint64_t memory_left; /* dm.c */
	bool has_memory, has_clock;
};

struct completion_queue {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex; /* begins with the same members */
	};
	struct ibv_wc now; /* cq_ex.c: the current completion */
	struct verbs_stamp stamp;
	uint32_t events; /* completion events given to the program */
	uint32_t async_events;
};

struct shared_queue {
	struct ibv_srq srq;
	uint32_t async_events;
};

struct batch;
struct queue_pair {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	uint32_t async_events;
	struct batch *batch; /* qp_ex.c; NULL: the queue pair does not support ibv_wr_*() */
};

struct channel {
	struct ibv_comp_channel channel;
	uint32_t id;
};

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* The errno value of a post; after a failure *bad is the first request that was not posted. */
#define POSTED(answer, wr, bad) \
	({ \
		const int64_t r_ = answer; \
		for (uint32_t skip = verbs_bad_index(r_); wr && skip; skip--) \
			wr = wr->next; \
		if (r_) \
			*bad = wr; \
		verbs_bad_error(r_); \
	})

static inline struct context *context_of(struct ibv_context *context)
{
	return CONTAINER(context, struct context, verbs.context);
}

static inline struct completion_queue *queue_of(struct ibv_cq *cq)
{
	return CONTAINER(cq, struct completion_queue, cq);
}

#define ASK(what, ...) \
	({ \
		const uint64_t args_[] = {__VA_ARGS__}; \
		rdb_gate_call(RDB_FN(RDB_NS_VERBS, what), sizeof(args_) / 8, args_); \
	})
#define P(pointer) ((uint64_t)(pointer))

/* For functions that return an errno value. */
static inline int error_of(int64_t result)
{
	return result < 0 ? (int)-result : 0;
}

/* For functions that return NULL and set errno; frees `object`. */
static inline void *not_made(void *object, int64_t result)
{
	free(object);
	errno = (int)-result;
	return NULL;
}

/* For functions that return -1 and set errno. */
static inline int failed(int64_t result)
{
	if (result >= 0)
		return 0;
	errno = (int)-result;
	return -1;
}

/* cq.c, qp.c: also used by the extended functions.  NULL and errno on failure. */
struct completion_queue *create_cq(struct ibv_context *context, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int comp_vector);
struct queue_pair *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);

/* mr.c: as ibv_reg_mr_iova2(); `users` is counted as long as the region exists (NULL: not). */
struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access, uint32_t *users);

/* events.c: waits in poll(2) until fd is readable.  -1 and errno: EAGAIN if fd is O_NONBLOCK, EINTR. */
int wait_readable(int fd);
/* Waits until the program has acknowledged all events it was given. */
void await_acknowledged(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *done, const uint32_t *given);
void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *done, uint32_t n);

/* members of context->ops, in the files of their objects */
int ops_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int ops_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int ops_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int ops_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int ops_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_mw *ops_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int ops_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int ops_dealloc_mw(struct ibv_mw *mw);
int ops_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len);
struct ibv_pd *ops_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);
int ops_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *list,
		  uint32_t n);
struct ibv_td *ops_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int ops_dealloc_td(struct ibv_td *td);
struct ibv_dm *ops_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int ops_free_dm(struct ibv_dm *dm);
struct ibv_mr *ops_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned access);
struct ibv_cq_ex *ops_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int ops_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
struct ibv_qp *ops_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* qp_ex.c */
void batch_free(struct batch *batch);
int ops_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t size);

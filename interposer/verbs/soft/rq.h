/* Posted receives of a queue pair or of a shared receive queue. */
#pragma once
#include "keys.h"

struct hca_recv {
	uint64_t wr_id;
	unsigned nsge;
	struct ibv_sge sge[HCA_MAX_SGE];
};

struct hca_rq {
	struct hca_recv *ring; /* elements have room for max_sge entries only */
	unsigned size, max_sge, head, count;
};

struct hca_srq {
	struct hca_pd *pd;
	unsigned users, limit;
	struct hca_rq rq;
};

int hca_rq_init(struct hca_rq *rq, unsigned size, unsigned max_sge);
void hca_rq_fini(struct hca_rq *rq);
/* 0 or -errno. */
int hca_rq_put(struct hca_rq *rq, const struct ibv_recv_wr *wr);
bool hca_rq_take(struct hca_rq *rq, struct hca_recv *out);

int hca_create_srq(void *pd, struct ibv_srq_init_attr *attr, void **srq);
int hca_modify_srq(void *srq, struct ibv_srq_attr *attr, int mask);
int hca_query_srq(void *srq, struct ibv_srq_attr *attr);
int hca_destroy_srq(void *srq);
int hca_post_srq_recv(void *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
bool hca_srq_take(struct hca_srq *srq, struct hca_recv *out);

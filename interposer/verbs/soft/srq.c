/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include "device.h"
#include "rq.h"

int hca_create_srq(void *pd, struct ibv_srq_init_attr *attr, void **out)
{
	struct ibv_srq_attr *a = &attr->attr;
	if (!a->max_wr || a->max_wr > HCA_MAX_WR || a->max_sge > HCA_MAX_SGE)
		return -EINVAL;
	struct hca_srq *srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	int rc = hca_rq_init(&srq->rq, a->max_wr, a->max_sge ? a->max_sge : 1);
	if (rc) {
		free(srq);
		return rc;
	}
	srq->pd = pd;
	srq->pd->users++;
	*out = srq;
	return 0;
}

int hca_modify_srq(void *handle, struct ibv_srq_attr *attr, int mask)
{
	struct hca_srq *srq = handle;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR) {
		struct hca_rq bigger;
		struct hca_recv r;
		if (!attr->max_wr || attr->max_wr > HCA_MAX_WR || attr->max_wr < srq->rq.count ||
		    ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > attr->max_wr))
			return -EINVAL;
		int rc = hca_rq_init(&bigger, attr->max_wr, srq->rq.max_sge);
		if (rc)
			return rc;
		while (hca_rq_take(&srq->rq, &r)) {
			struct ibv_recv_wr wr = {.wr_id = r.wr_id, .sg_list = r.sge, .num_sge = (int)r.nsge};
			hca_rq_put(&bigger, &wr);
		}
		hca_rq_fini(&srq->rq);
		srq->rq = bigger;
	}
	if (mask & IBV_SRQ_LIMIT) {
		if (attr->srq_limit > srq->rq.size)
			return -EINVAL;
		srq->limit = attr->srq_limit;
	}
	return 0;
}

int hca_query_srq(void *handle, struct ibv_srq_attr *attr)
{
	const struct hca_srq *srq = handle;
	*attr = (struct ibv_srq_attr){.max_wr = srq->rq.size, .max_sge = srq->rq.max_sge, .srq_limit = srq->limit};
	return 0;
}

int hca_destroy_srq(void *handle)
{
	struct hca_srq *srq = handle;
	if (srq->users)
		return -EBUSY;
	hca_async_forget(srq->pd->context, srq);
	srq->pd->users--;
	hca_rq_fini(&srq->rq);
	free(srq);
	return 0;
}

int hca_post_srq_recv(void *handle, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct hca_srq *srq = handle;
	for (; wr; wr = wr->next) {
		int rc = hca_rq_put(&srq->rq, wr);
		if (rc) {
			*bad = wr;
			return rc;
		}
	}
	return 0;
}

bool hca_srq_take(struct hca_srq *srq, struct hca_recv *out)
{
	if (!hca_rq_take(&srq->rq, out))
		return false;
	if (srq->rq.count < srq->limit) {
		srq->limit = 0;
		hca_async_raise(srq->pd->context, IBV_EVENT_SRQ_LIMIT_REACHED, srq, 0);
	}
	return true;
}

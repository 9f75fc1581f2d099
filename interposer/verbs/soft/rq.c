/* A ring of receives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rq.h"

static size_t stride(const struct hca_rq *rq)
{
	return offsetof(struct hca_recv, sge) + rq->max_sge * sizeof(struct ibv_sge);
}

static struct hca_recv *at(const struct hca_rq *rq, unsigned i)
{
	return (struct hca_recv *)((char *)rq->ring + (i % rq->size) * stride(rq));
}

int hca_rq_init(struct hca_rq *rq, unsigned size, unsigned max_sge)
{
	*rq = (struct hca_rq){.size = size, .max_sge = max_sge};
	if (!size)
		return 0;
	rq->ring = calloc(size, stride(rq));
	return rq->ring ? 0 : -ENOMEM;
}

void hca_rq_fini(struct hca_rq *rq)
{
	free(rq->ring);
	*rq = (struct hca_rq){0};
}

int hca_rq_put(struct hca_rq *rq, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (unsigned)wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rq->count == rq->size)
		return -ENOMEM;
	struct hca_recv *r = at(rq, rq->head + rq->count);
	r->wr_id = wr->wr_id;
	r->nsge = (unsigned)wr->num_sge;
	if (r->nsge)
		memcpy(r->sge, wr->sg_list, r->nsge * sizeof(*r->sge));
	rq->count++;
	return 0;
}

bool hca_rq_take(struct hca_rq *rq, struct hca_recv *out)
{
	if (!rq->count)
		return false;
	const struct hca_recv *r = at(rq, rq->head);
	memcpy(out, r, offsetof(struct hca_recv, sge) + r->nsge * sizeof(*r->sge));
	rq->head = (rq->head + 1) % rq->size;
	rq->count--;
	return true;
}

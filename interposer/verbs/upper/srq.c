/* Shared receive queues. */
#include "upper.h"

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct shared_queue *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	int64_t id = ASK(VERBS_CREATE_SRQ, pd->handle, P(attr), P(&q->srq));
	if (id < 0)
		return not_made(q, id);
	q->srq.context = pd->context;
	q->srq.srq_context = attr->srq_context;
	q->srq.pd = pd;
	q->srq.handle = (uint32_t)id;
	pthread_mutex_init(&q->srq.mutex, NULL);
	pthread_cond_init(&q->srq.cond, NULL);
	return &q->srq;
}

EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	return error_of(ASK(VERBS_MODIFY_SRQ, srq->handle, P(attr), (uint64_t)mask));
}

EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	return error_of(ASK(VERBS_QUERY_SRQ, srq->handle, P(attr)));
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct shared_queue *q = CONTAINER(srq, struct shared_queue, srq);
	int err = error_of(ASK(VERBS_DESTROY_SRQ, srq->handle));
	if (err)
		return err;
	await_acknowledged(&srq->mutex, &srq->cond, &srq->events_completed, &q->async_events);
	free(q);
	return 0;
}

int ops_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return POSTED(ASK(VERBS_POST_SRQ_RECV, srq->handle, P(wr)), wr, bad);
}

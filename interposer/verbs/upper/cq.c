/* Completion channels and completion queues. */
#include "upper.h"

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct channel *c = calloc(1, sizeof(*c));
	int32_t fd = -1;
	if (!c)
		return NULL;
	int64_t id = ASK(VERBS_CREATE_CHANNEL, context_of(context)->id, P(&fd));
	if (id < 0)
		return not_made(c, id);
	c->channel.context = context;
	c->channel.fd = fd;
	c->id = (uint32_t)id;
	return &c->channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct channel *c = CONTAINER(channel, struct channel, channel);
	int err = channel->refcnt ? EBUSY : error_of(ASK(VERBS_DESTROY_CHANNEL, c->id));
	if (!err)
		free(c);
	return err;
}

struct completion_queue *create_cq(struct ibv_context *context, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int comp_vector)
{
	struct completion_queue *q = calloc(1, sizeof(*q));
	int32_t entries = cqe;
	uint32_t channel_id = channel ? CONTAINER(channel, struct channel, channel)->id : 0;
	if (!q)
		return NULL;
	int64_t id = ASK(VERBS_CREATE_CQ, context_of(context)->id, P(&entries), channel_id, (uint64_t)comp_vector,
			 P(&q->cq));
	if (id < 0)
		return not_made(q, id);
	q->cq.context = context;
	q->cq.channel = channel;
	q->cq.cq_context = cq_context;
	q->cq.handle = (uint32_t)id;
	q->cq.cqe = entries;
	pthread_mutex_init(&q->cq.mutex, NULL);
	pthread_cond_init(&q->cq.cond, NULL);
	if (channel)
		__atomic_add_fetch(&channel->refcnt, 1, __ATOMIC_ACQ_REL);
	return q;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct completion_queue *q = create_cq(context, cqe, cq_context, channel, comp_vector);
	return q ? &q->cq : NULL;
}

EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	int32_t entries = cqe;
	int err = error_of(ASK(VERBS_RESIZE_CQ, cq->handle, P(&entries)));
	if (!err)
		cq->cqe = entries;
	return err;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct completion_queue *q = queue_of(cq);
	int err = error_of(ASK(VERBS_DESTROY_CQ, cq->handle));
	if (err)
		return err;
	await_acknowledged(&cq->mutex, &cq->cond, &cq->comp_events_completed, &q->events);
	await_acknowledged(&cq->mutex, &cq->cond, &cq->async_events_completed, &q->async_events);
	if (cq->channel)
		__atomic_sub_fetch(&cq->channel->refcnt, 1, __ATOMIC_ACQ_REL);
	free(q);
	return 0;
}

int ops_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int64_t r = ASK(VERBS_POLL_CQ, cq->handle, (uint64_t)n, P(wc), 0);
	return r < 0 ? -1 : (int)r;
}

int ops_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return error_of(ASK(VERBS_NOTIFY_CQ, cq->handle, (uint64_t)solicited_only));
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	uint32_t id = CONTAINER(channel, struct channel, channel)->id;
	int64_t r;
	while ((r = ASK(VERBS_CQ_EVENT, id)) == -EAGAIN)
		if (wait_readable(channel->fd))
			return -1;
	if (failed(r))
		return -1;
	struct completion_queue *q = (void *)r;
	pthread_mutex_lock(&q->cq.mutex);
	q->events++;
	pthread_mutex_unlock(&q->cq.mutex);
	*cq = &q->cq;
	*cq_context = q->cq.cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	if (n)
		acknowledge(&cq->mutex, &cq->cond, &cq->comp_events_completed, n);
}

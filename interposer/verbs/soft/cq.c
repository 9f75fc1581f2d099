/* Completion queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cq.h"
#include "qp.h"

int hca_create_cq(void *context, int *cqe, void *channel, int vector, void **out)
{
	if (*cqe < 1 || *cqe > HCA_MAX_CQE || vector != 0)
		return -EINVAL;
	struct hca_cq *cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ring = calloc((size_t)*cqe, sizeof(*cq->ring));
	if (!cq->ring) {
		free(cq);
		return -ENOMEM;
	}
	cq->size = (unsigned)*cqe;
	cq->context = context;
	cq->context->users++;
	cq->channel = channel;
	if (cq->channel)
		cq->channel->users++;
	list_init(&cq->link);
	*out = cq;
	return 0;
}

int hca_resize_cq(void *handle, int *cqe)
{
	struct hca_cq *cq = handle;
	if (*cqe < 1 || *cqe > HCA_MAX_CQE || (unsigned)*cqe < cq->count)
		return -EINVAL;
	struct hca_completed *ring = calloc((size_t)*cqe, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (unsigned i = 0; i < cq->count; i++)
		ring[i] = cq->ring[(cq->head + i) % cq->size];
	free(cq->ring);
	cq->ring = ring;
	cq->head = 0;
	cq->size = (unsigned)*cqe;
	return 0;
}

int hca_destroy_cq(void *handle)
{
	struct hca_cq *cq = handle;
	if (cq->users)
		return -EBUSY;
	if (cq->channel) {
		list_remove(&cq->link);
		hca_flag_set(cq->channel->fd, &cq->channel->signalled, !list_empty(&cq->channel->ready));
		cq->channel->users--;
	}
	hca_async_forget(cq->context, cq);
	cq->context->users--;
	free(cq->ring);
	free(cq);
	return 0;
}

struct ibv_wc hca_cq_take(struct hca_cq *cq)
{
	const struct hca_completed *oldest = &cq->ring[cq->head];
	cq->polled_at = oldest->at;
	cq->head = (cq->head + 1) % cq->size;
	cq->count--;
	return oldest->wc;
}

uint64_t hca_completed_at(void *handle)
{
	return ((const struct hca_cq *)handle)->polled_at;
}

static void notify(struct hca_cq *cq)
{
	cq->armed = false;
	if (!cq->channel)
		return;
	cq->events++;
	if (cq->events == 1)
		list_append(&cq->channel->ready, &cq->link);
	hca_flag_set(cq->channel->fd, &cq->channel->signalled, true);
}

int hca_req_notify_cq(void *handle, int solicited_only)
{
	struct hca_cq *cq = handle;
	/* A request for any completion is stronger than one for solicited completions only. */
	cq->solicited_only = solicited_only && (!cq->armed || cq->solicited_only);
	cq->armed = true;
	return 0;
}

static void put(struct hca_cq *cq, const struct ibv_wc *wc)
{
	cq->ring[(cq->head + cq->count++) % cq->size] = (struct hca_completed){.wc = *wc, .at = hca_now()};
}

int hca_restore_cq(void *handle, const struct verbs_queued *queued)
{
	struct hca_cq *cq = handle;
	if (cq->count + queued->count > cq->size)
		return -ENOSPC;
	for (unsigned i = 0; i < queued->count; i++)
		put(cq, &queued->completed[i].wc);
	for (unsigned i = 0; i < queued->events; i++)
		notify(cq);
	cq->armed = queued->armed;
	cq->solicited_only = queued->solicited_only;
	return 0;
}

void hca_cq_forget_qp(struct hca_cq *cq, uint32_t number)
{
	unsigned left = 0;
	for (unsigned i = 0; i < cq->count; i++) {
		const struct hca_completed *c = &cq->ring[(cq->head + i) % cq->size];
		if (c->wc.qp_num != number)
			cq->ring[(cq->head + left++) % cq->size] = *c;
	}
	cq->count = left;
}

bool hca_cq_holds(const struct hca_cq *cq, uint32_t number)
{
	for (unsigned i = 0; i < cq->count; i++)
		if (cq->ring[(cq->head + i) % cq->size].wc.qp_num == number)
			return true;
	return false;
}

void hca_cq_push(struct hca_cq *cq, const struct ibv_wc *wc, bool solicited)
{
	if (cq->count == cq->size) {
		if (!cq->overrun) {
			cq->overrun = true;
			hca_async_raise(cq->context, IBV_EVENT_CQ_ERR, cq, 0);
			hca_qps_lost_cq(cq);
		}
		return;
	}
	put(cq, wc);
	if (cq->armed && (!cq->solicited_only || solicited || wc->status != IBV_WC_SUCCESS))
		notify(cq);
}

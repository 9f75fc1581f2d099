/* Queue pairs and posting to them. */
#include "upper.h"

struct queue_pair *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct queue_pair *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	int64_t id = ASK(VERBS_CREATE_QP, pd->handle, attr->send_cq ? attr->send_cq->handle : 0,
			 attr->recv_cq ? attr->recv_cq->handle : 0, attr->srq ? attr->srq->handle : 0, attr->qp_type,
			 P(attr), P(&q->qp), P(&q->qp.qp_num));
	if (id < 0)
		return not_made(q, id);
	q->qp.context = pd->context;
	q->qp.qp_context = attr->qp_context;
	q->qp.pd = pd;
	q->qp.send_cq = attr->send_cq;
	q->qp.recv_cq = attr->recv_cq;
	q->qp.srq = attr->srq;
	q->qp.handle = (uint32_t)id;
	q->qp.state = IBV_QPS_RESET;
	q->qp.qp_type = attr->qp_type;
	pthread_mutex_init(&q->qp.mutex, NULL);
	pthread_cond_init(&q->qp.cond, NULL);
	return q;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct queue_pair *q = create_qp(pd, attr);
	return q ? &q->qp : NULL;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int state = mask & IBV_QP_STATE ? (int)attr->qp_state : -1;
	uint32_t peer = mask & IBV_QP_DEST_QPN ? attr->dest_qp_num : 0;
	int err = error_of(ASK(VERBS_MODIFY_QP, qp->handle, P(attr), (uint64_t)mask, (uint64_t)state, peer));
	if (!err && state >= 0)
		qp->state = attr->qp_state;
	return err;
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	int err = error_of(ASK(VERBS_QUERY_QP, qp->handle, P(attr), (uint64_t)mask, P(init)));
	if (err)
		return err;
	init->qp_context = qp->qp_context;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->srq = qp->srq;
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct queue_pair *q = CONTAINER(qp, struct queue_pair, qp);
	int err = error_of(ASK(VERBS_DESTROY_QP, qp->handle));
	if (err)
		return err;
	await_acknowledged(&qp->mutex, &qp->cond, &qp->events_completed, &q->async_events);
	batch_free(q->batch);
	free(q);
	return 0;
}

int ops_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return POSTED(ASK(VERBS_POST_SEND, qp->handle, P(wr)), wr, bad);
}

int ops_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return POSTED(ASK(VERBS_POST_RECV, qp->handle, P(wr)), wr, bad);
}

EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}

/* Enhanced connection establishment */
EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	memset(ece, 0, sizeof(*ece));
	return EOPNOTSUPP;
}

EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	return ece->vendor_id ? EOPNOTSUPP : 0;
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return error_of(ASK(VERBS_ATTACH_MCAST, qp->handle, P(gid), lid));
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return error_of(ASK(VERBS_DETACH_MCAST, qp->handle, P(gid), lid));
}

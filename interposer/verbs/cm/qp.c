/* Queue pairs of identifiers: creation and state changes during the connection. */
#include "cm.h"

enum { TIMEOUT = 14, MIN_RNR_TIMER = 12 };

void cm_address_of_peer(const struct cm_id *c, struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){.is_global = 1, .port_num = c->id.port_num};
	memcpy(&ah->grh.dgid, c->peer.gid, sizeof(ah->grh.dgid));
	ah->grh.sgid_index = (uint8_t)c->sgid_index;
	ah->grh.hop_limit = 64;
}

static int init_attr(struct cm_id *c, struct ibv_qp_attr *a, int *mask)
{
	a->pkey_index = 0;
	a->port_num = c->id.port_num;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (c->id.qp_type == IBV_QPT_UD) {
		a->qkey = c->qkey ? c->qkey : RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
	} else {
		a->qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_ATOMIC;
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

static int rtr_attr(struct cm_id *c, struct ibv_qp_attr *a, int *mask)
{
	struct ibv_port_attr port;
	*mask = IBV_QP_STATE;
	if (c->id.qp_type == IBV_QPT_UD)
		return 0;
	int error = ibv_query_port(c->id.verbs, c->id.port_num, &port);
	if (error)
		return cm_fail(error);
	cm_address_of_peer(c, &a->ah_attr);
	a->path_mtu = port.active_mtu;
	a->dest_qp_num = c->peer.qpn;
	a->rq_psn = c->peer.psn;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (c->id.qp_type == IBV_QPT_RC) {
		a->max_dest_rd_atomic = c->own.responder_resources;
		a->min_rnr_timer = MIN_RNR_TIMER;
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return 0;
}

static int rts_attr(struct cm_id *c, struct ibv_qp_attr *a, int *mask)
{
	a->sq_psn = c->psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (c->id.qp_type == IBV_QPT_RC) {
		a->timeout = c->has_timeout ? c->ack_timeout : TIMEOUT;
		a->retry_cnt = c->own.retry_count < 7 ? c->own.retry_count : 7;
		a->rnr_retry = c->peer.rnr_retry_count < 7 ? c->peer.rnr_retry_count : 7;
		a->max_rd_atomic = c->own.initiator_depth;
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return 0;
}

EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct cm_id *c = cm_of(id);
	if (!c->device)
		return cm_fail(EINVAL);
	switch (attr->qp_state) {
	case IBV_QPS_INIT: return init_attr(c, attr, mask);
	case IBV_QPS_RTR: return rtr_attr(c, attr, mask);
	case IBV_QPS_RTS: return rts_attr(c, attr, mask);
	default: return cm_fail(EINVAL);
	}
}

static int to_state(struct cm_id *c, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	int mask;
	if (rdma_init_qp_attr(&c->id, &a, &mask))
		return -1;
	int error = ibv_modify_qp(c->id.qp, &a, mask);
	return error ? cm_fail(error) : 0;
}

int cm_qp_to_rtr(struct cm_id *c)
{
	return to_state(c, IBV_QPS_RTR);
}

int cm_qp_to_rts(struct cm_id *c)
{
	return to_state(c, IBV_QPS_RTS);
}

void cm_qp_to_error(struct cm_id *c)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	if (c->id.qp)
		ibv_modify_qp(c->id.qp, &a, IBV_QP_STATE);
}

static struct ibv_cq *make_cq(struct cm_id *c, uint32_t entries, struct ibv_comp_channel **channel)
{
	*channel = ibv_create_comp_channel(c->id.verbs);
	return *channel ? ibv_create_cq(c->id.verbs, entries ? (int)entries : 1, c, *channel, 0) : NULL;
}

/* Creates the completion queues that the program did not pass. */
static int own_cqs(struct cm_id *c, struct ibv_qp_init_attr *a)
{
	if (!a->recv_cq && !c->id.recv_cq) {
		c->own_cqs = true;
		c->id.recv_cq = make_cq(c, a->cap.max_recv_wr, &c->id.recv_cq_channel);
		if (!c->id.recv_cq)
			return -1;
	}
	if (!a->send_cq && !c->id.send_cq) {
		c->own_cqs = true;
		c->id.send_cq = make_cq(c, a->cap.max_send_wr, &c->id.send_cq_channel);
		if (!c->id.send_cq)
			return -1;
	}
	if (!a->recv_cq)
		a->recv_cq = c->id.recv_cq;
	if (!a->send_cq)
		a->send_cq = c->id.send_cq;
	return 0;
}

static void end_cq(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

static void end_own_cqs(struct cm_id *c)
{
	if (!c->own_cqs)
		return;
	if (c->id.send_cq_channel)
		end_cq(&c->id.send_cq, &c->id.send_cq_channel);
	if (c->id.recv_cq_channel)
		end_cq(&c->id.recv_cq, &c->id.recv_cq_channel);
	c->own_cqs = false;
}

EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct cm_id *c = cm_of(id);
	if (id->qp || !c->device || (pd && pd->context != id->verbs))
		return cm_fail(EINVAL);
	if (pd)
		id->pd = pd;
	if (own_cqs(c, attr))
		goto failed;
	if (!attr->srq)
		attr->srq = id->srq;
	attr->qp_type = id->qp_type;
	id->qp = ibv_create_qp(id->pd, attr);
	if (!id->qp)
		goto failed;
	c->qp = *id->qp;
	id->send_cq = attr->send_cq;
	id->recv_cq = attr->recv_cq;
	if (to_state(c, IBV_QPS_INIT) || (id->qp_type == IBV_QPT_UD && (cm_qp_to_rtr(c) || cm_qp_to_rts(c))))
		goto failed;
	return 0;
failed:;
	int error = errno;
	if (id->qp)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
	end_own_cqs(c);
	return cm_fail(error);
}

EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {.qp_context = attr->qp_context,
					 .send_cq = attr->send_cq,
					 .recv_cq = attr->recv_cq,
					 .srq = attr->srq,
					 .cap = attr->cap,
					 .qp_type = attr->qp_type,
					 .sq_sig_all = attr->sq_sig_all};
	if (attr->comp_mask & ~IBV_QP_INIT_ATTR_PD)
		return cm_fail(EOPNOTSUPP);
	int rc = rdma_create_qp(id, attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL, &plain);
	if (!rc)
		attr->cap = plain.cap;
	return rc;
}

EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	end_own_cqs(cm_of(id));
}

EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct cm_id *c = cm_of(id);
	if (!c->device)
		return cm_fail(EINVAL);
	if (pd)
		id->pd = pd;
	id->srq = ibv_create_srq(id->pd, attr);
	return id->srq ? 0 : -1;
}

EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr plain = {.srq_context = attr->srq_context, .attr = attr->attr};
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type != IBV_SRQT_BASIC)
		return cm_fail(EOPNOTSUPP);
	return rdma_create_srq(id, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL, &plain);
}

EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
}

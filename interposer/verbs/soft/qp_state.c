/* A queue pair's states: the legal transitions, with the attributes each must and may set (InfiniBand
 * Architecture Specification, volume 1, 10.3.1 and 11.2.5.2; ibv_modify_qp(3)). */
#include <errno.h>
#include "../qp_attr.h"
#include "conn.h"
#include "progress.h"
#include "qp.h"

struct rule {
	enum ibv_qp_state from, to;
	struct {
		int must, may;
	} rc, uc, ud;
};

#define CONNECTED (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define PATH (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_ACCESS_FLAGS)
#define START (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RC_SEND (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define CUR IBV_QP_CUR_STATE

static const struct rule rules[] = {
	{IBV_QPS_RESET,
	 IBV_QPS_INIT,
	 {START | IBV_QP_ACCESS_FLAGS, 0},
	 {START | IBV_QP_ACCESS_FLAGS, 0},
	 {START | IBV_QP_QKEY, 0}},
	{IBV_QPS_INIT,
	 IBV_QPS_INIT,
	 {0, START | IBV_QP_ACCESS_FLAGS},
	 {0, START | IBV_QP_ACCESS_FLAGS},
	 {0, START | IBV_QP_QKEY}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {CONNECTED | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, PATH | IBV_QP_PKEY_INDEX},
	 {CONNECTED, PATH | IBV_QP_PKEY_INDEX},
	 {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {RC_SEND | IBV_QP_SQ_PSN, CUR | PATH | IBV_QP_MIN_RNR_TIMER},
	 {IBV_QP_SQ_PSN, CUR | PATH},
	 {IBV_QP_SQ_PSN, CUR | IBV_QP_QKEY}},
	{IBV_QPS_RTS, IBV_QPS_RTS, {0, CUR | PATH | IBV_QP_MIN_RNR_TIMER}, {0, CUR | PATH}, {0, CUR | IBV_QP_QKEY}},
	{IBV_QPS_RTS,
	 IBV_QPS_SQD,
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	 {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
	{IBV_QPS_SQD, IBV_QPS_RTS, {0, CUR | PATH | IBV_QP_MIN_RNR_TIMER}, {0, CUR | PATH}, {0, CUR | IBV_QP_QKEY}},
	{IBV_QPS_SQD,
	 IBV_QPS_SQD,
	 {0, START | IBV_QP_AV | RC_SEND | IBV_QP_MAX_DEST_RD_ATOMIC | CUR | PATH | IBV_QP_MIN_RNR_TIMER},
	 {0, IBV_QP_AV | CUR | PATH | IBV_QP_PKEY_INDEX},
	 {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
	{IBV_QPS_SQE, IBV_QPS_RTS, {-1, 0}, {0, CUR | IBV_QP_ACCESS_FLAGS}, {0, CUR | IBV_QP_QKEY}},
};

/* 0 or -EINVAL.  *next: the new state. */
static int check_transition(const struct hca_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state *next)
{
	*next = mask & IBV_QP_STATE ? attr->qp_state : qp->state;
	if ((mask & CUR) && attr->cur_qp_state != qp->state)
		return -EINVAL;
	mask &= ~IBV_QP_STATE;
	if (*next == IBV_QPS_RESET || *next == IBV_QPS_ERR)
		return mask & ~CUR ? -EINVAL : 0;
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];
		if (r->from != qp->state || r->to != *next)
			continue;
		int must = qp->type == IBV_QPT_RC ? r->rc.must : qp->type == IBV_QPT_UC ? r->uc.must : r->ud.must;
		int may = qp->type == IBV_QPT_RC ? r->rc.may : qp->type == IBV_QPT_UC ? r->uc.may : r->ud.may;
		return must < 0 || (mask & must) != must || (mask & ~(must | may)) ? -EINVAL : 0;
	}
	return -EINVAL;
}

static int check_values(const struct ibv_qp_attr *a, int mask)
{
	uint32_t ip;
	if ((mask & IBV_QP_PORT) && a->port_num != 1)
		return -EINVAL;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index != 0)
		return -EINVAL;
	if (mask & IBV_QP_AV) {
		if (a->ah_attr.port_num != 1 || !hca_gid_address(&a->ah_attr, &ip))
			return -EINVAL;
		if (a->ah_attr.is_global && a->ah_attr.grh.sgid_index >= hca.ngids)
			return -EINVAL;
	}
	if ((mask & IBV_QP_PATH_MTU) && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	if ((mask & IBV_QP_DEST_QPN) && a->dest_qp_num > FRAME_NUMBERS)
		return -EINVAL;
	if (((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > HCA_MAX_READS) ||
	    ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > HCA_MAX_READS))
		return -EINVAL;
	if (((mask & IBV_QP_TIMEOUT) && a->timeout > 31) || ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	    ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > 7) || ((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31))
		return -EINVAL;
	return 0;
}

static void keep(struct hca_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_qp_attr *k = &qp->attr;
	qp_attr_keep(k, a, mask);
	if (mask & (IBV_QP_AV | IBV_QP_DEST_QPN)) {
		hca_gid_address(&k->ah_attr, &qp->peer_ip);
		qp->peer_port = (uint16_t)(hca.base + (k->dest_qp_num >> HCA_SLOT_SHIFT));
	}
	if (mask & IBV_QP_RQ_PSN)
		qp->rx.seq = k->rq_psn & FRAME_NUMBERS;
	if (mask & IBV_QP_SQ_PSN)
		qp->sq.seq = qp->sq.acked = k->sq_psn & FRAME_NUMBERS;
	if (mask & IBV_QP_RETRY_CNT)
		qp->sq.retries = k->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		qp->sq.rnr_retries = k->rnr_retry;
}

static void reset(struct hca_qp *qp)
{
	struct hca_recv r;
	hca_qp_detach(qp);
	hca_rx_reset(qp);
	hca_sq_reset(qp);
	hca_cq_forget_qp(qp->scq, qp->number);
	hca_cq_forget_qp(qp->rcq, qp->number);
	while (!qp->srq && hca_rq_take(&qp->rq, &r))
		continue;
	qp->attr = (struct ibv_qp_attr){0};
	qp->established = false;
}

int hca_modify_qp(void *handle, struct ibv_qp_attr *attr, int mask)
{
	struct hca_qp *qp = handle;
	enum ibv_qp_state next, was = qp->state;
	int rc = check_transition(qp, attr, mask, &next);
	if (!rc)
		rc = check_values(attr, mask);
	if (!rc && (mask & IBV_QP_MAX_DEST_RD_ATOMIC))
		rc = hca_rx_init(qp, attr->max_dest_rd_atomic);
	if (rc)
		return rc;
	if (next == IBV_QPS_ERR)
		hca_progress(); /* what has been acknowledged is not flushed */
	else
		hca_progress_output();
	keep(qp, attr, mask);
	switch (next) {
	case IBV_QPS_RESET: reset(qp); break;
	case IBV_QPS_ERR: hca_qp_fail(qp); break;
	case IBV_QPS_SQD:
		qp->drained_told = was == IBV_QPS_SQD && qp->drained_told;
		qp->sqd_notify = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) ? attr->en_sqd_async_notify : qp->sqd_notify;
		break;
	default: break;
	}
	qp->state = next;
	if (next == IBV_QPS_SQD)
		hca_sq_complete(qp);
	if (next == IBV_QPS_RTS) {
		hca_sq_start(qp);
		hca_pump();
	}
	return 0;
}

/* Making and ending queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "conn.h"
#include "progress.h"
#include "qp.h"

static int number_for(struct hca_qp *qp)
{
	/* Numbers 0 and 1 are reserved.  The search goes on behind the last number, so one is reused as late as
	 * possible. */
	for (unsigned tries = 0; tries < HCA_QPS; tries++) {
		unsigned at = hca.next_qp++ % HCA_QPS;
		if (at < 2 || hca.qps[at])
			continue;
		qp->number = (uint32_t)hca.slot << HCA_SLOT_SHIFT | at;
		hca.qps[at] = qp;
		hca.nqps++;
		return 0;
	}
	return -ENOMEM;
}

struct hca_qp *hca_qp_find(uint32_t number)
{
	return number >> HCA_SLOT_SHIFT == (uint32_t)hca.slot ? hca.qps[number & (HCA_QPS - 1)] : NULL;
}

static int check(const struct verbs_qp_links *links, const struct ibv_qp_init_attr *a)
{
	if (a->qp_type != IBV_QPT_RC && a->qp_type != IBV_QPT_UC && a->qp_type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!links->pd || !links->send_cq || !links->recv_cq || (links->srq && a->qp_type == IBV_QPT_UC))
		return -EINVAL;
	if (a->cap.max_send_wr > HCA_MAX_WR || a->cap.max_recv_wr > HCA_MAX_WR || a->cap.max_send_sge > HCA_MAX_SGE ||
	    a->cap.max_recv_sge > HCA_MAX_SGE || a->cap.max_inline_data > HCA_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static void count_users(struct hca_qp *qp, int n)
{
	qp->pd->users += (unsigned)n;
	qp->scq->users += (unsigned)n;
	qp->rcq->users += (unsigned)n;
	if (qp->srq)
		qp->srq->users += (unsigned)n;
}

int hca_create_qp(const struct verbs_qp_links *links, struct ibv_qp_init_attr *a, void **out, uint32_t *qp_num)
{
	int rc = check(links, a);
	if (rc)
		return rc;
	struct hca_qp *qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->type = a->qp_type;
	qp->state = IBV_QPS_RESET;
	qp->sig_all = a->sq_sig_all;
	qp->pd = links->pd;
	qp->scq = links->send_cq;
	qp->rcq = links->recv_cq;
	qp->srq = links->srq;
	list_init(&qp->sq.timer);
	list_init(&qp->sq.link);
	list_init(&qp->rx.link);
	list_init(&qp->rx.ack_link);
	rc = hca_sq_init(qp, &a->cap);
	if (!rc && !qp->srq) {
		unsigned wr = a->cap.max_recv_wr;
		rc = hca_rq_init(&qp->rq, wr, a->cap.max_recv_sge ? a->cap.max_recv_sge : 1);
	}
	if (!rc)
		rc = number_for(qp);
	if (rc) {
		hca_sq_fini(qp);
		hca_rq_fini(&qp->rq);
		free(qp);
		return rc;
	}
	count_users(qp, 1);
	a->cap.max_send_wr = qp->sq.size;
	a->cap.max_send_sge = qp->sq.max_sge;
	a->cap.max_inline_data = qp->sq.max_inline;
	if (!qp->srq)
		a->cap.max_recv_sge = qp->rq.max_sge;
	qp->cap = a->cap;
	*out = qp;
	*qp_num = qp->number;
	return 0;
}

void hca_qp_detach(struct hca_qp *qp)
{
	hca_conns_forget_qp(qp);
	list_remove(&qp->sq.timer);
	list_remove(&qp->sq.link);
}

void hca_qp_end(struct hca_qp *qp)
{
	hca_qp_detach(qp);
	hca_rx_reset(qp);
	hca_cq_forget_qp(qp->scq, qp->number);
	hca_cq_forget_qp(qp->rcq, qp->number);
	hca_async_forget(qp->pd->context, qp);
	hca_mw_forget_qp(qp);
	hca.qps[qp->number & (HCA_QPS - 1)] = NULL;
	hca.nqps--;
	count_users(qp, -1);
	hca_sq_fini(qp);
	hca_rq_fini(&qp->rq);
	free(qp->rx.answers);
	free(qp);
}

static void flush_receives(struct hca_qp *qp)
{
	struct hca_recv r;
	hca_rx_flush(qp);
	while (!qp->srq && hca_rq_take(&qp->rq, &r)) {
		struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR};
		hca_rx_complete(qp, &r, &wc, false);
	}
	if (qp->srq)
		hca_async_raise(qp->pd->context, IBV_EVENT_QP_LAST_WQE_REACHED, qp, 0);
}

void hca_qp_fail(struct hca_qp *qp)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	qp->state = IBV_QPS_ERR;
	hca_qp_detach(qp);
	hca_sq_flush(qp);
	flush_receives(qp);
}

void hca_qp_fail_send(struct hca_qp *qp)
{
	if (qp->type == IBV_QPT_RC) {
		hca_qp_fail(qp);
		return;
	}
	qp->state = IBV_QPS_SQE;
	list_remove(&qp->sq.link);
	hca_sq_flush(qp);
}

void hca_qps_lost_cq(const struct hca_cq *cq)
{
	for (unsigned i = 0; i < HCA_QPS; i++) {
		struct hca_qp *qp = hca.qps[i];
		if (!qp || (qp->scq != cq && qp->rcq != cq) || qp->state == IBV_QPS_ERR)
			continue;
		hca_async_raise(qp->pd->context, IBV_EVENT_QP_FATAL, qp, 0);
		hca_qp_fail(qp);
	}
}

int hca_post_recv(void *handle, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct hca_qp *qp = handle;
	for (; wr; wr = wr->next) {
		int rc = qp->srq || qp->state == IBV_QPS_RESET ? -EINVAL : hca_rq_put(&qp->rq, wr);
		if (rc) {
			*bad = wr;
			return rc;
		}
		if (qp->state == IBV_QPS_ERR) {
			struct hca_recv r;
			struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR};
			hca_rq_take(&qp->rq, &r);
			hca_rx_complete(qp, &r, &wc, false);
		}
	}
	return 0;
}

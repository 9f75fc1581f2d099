/* Verbs that carry out pending work, too. */
#include <errno.h>
#include <time.h>
#include "conn.h"
#include "keys.h"
#include "progress.h"
#include "qp.h"

int hca_poll_cq(void *handle, int n, struct ibv_wc *wc)
{
	struct hca_cq *cq = handle;
	int got = 0;
	if (n < 0)
		return -EINVAL;
	if (!cq->count)
		hca_progress_for_poll();
	if (cq->overrun)
		return -EIO;
	while (got < n && cq->count)
		wc[got++] = hca_cq_take(cq);
	return got;
}

int hca_post_send(void *handle, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct hca_qp *qp = handle;
	int rc = 0;
	for (; wr; wr = wr->next) {
		rc = hca_sq_put(qp, wr);
		if (rc) {
			*bad = wr;
			break;
		}
	}
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		hca_sq_flush(qp);
	else
		hca_sq_start(qp);
	hca_pump();
	return rc;
}

int hca_bind_mw(void *handle, void *mw_handle, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey)
{
	struct hca_mw *mw = mw_handle;
	struct ibv_send_wr *bad, wr = {.wr_id = bind->wr_id, .opcode = IBV_WR_BIND_MW, .send_flags = bind->send_flags};
	if (mw->type != IBV_MW_TYPE_1)
		return -EINVAL;
	wr.bind_mw.mw = (struct ibv_mw *)mw;
	wr.bind_mw.bind_info = bind->bind_info;
	wr.bind_mw.bind_info.mr = mr;
	wr.bind_mw.rkey = *rkey = hca_mw_next_key(mw);
	return hca_post_send(handle, &wr, &bad);
}

/* Requests that the peer may have received, or completions that the program has not polled. */
static bool something_waits(const struct hca_qp *qp)
{
	return qp->state == IBV_QPS_RTS &&
	       (qp->sq.head != qp->sq.tail || hca_cq_holds(qp->scq, qp->number) || hca_cq_holds(qp->rcq, qp->number));
}

/* sq_draining means nothing outside of SQD (ibv_query_qp(3)); our librdmacm finds there what something_waits() says. */
int hca_query_qp(void *handle, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct hca_qp *qp = handle;
	hca_progress();
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = qp->state;
	attr->cap = qp->cap;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->sq_draining = qp->state == IBV_QPS_SQD ? !qp->drained_told : something_waits(qp);
	*init = (struct ibv_qp_init_attr){.cap = qp->cap, .qp_type = qp->type, .sq_sig_all = qp->sig_all};
	return 0;
}

/* Gives datagrams to a peer that is still being connected to a chance to leave: hardware would have sent them. */
static void let_datagrams_go(const struct hca_qp *qp)
{
	enum { AT_MOST_MS = 200 };
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct hca_send_queue *sq = &qp->sq;
	if (qp->type != IBV_QPT_UD || qp->state != IBV_QPS_RTS)
		return;
	for (unsigned ms = 0; ms < AT_MOST_MS && sq->next != sq->tail && sq->conn && sq->conn->state < CONN_UP; ms++) {
		hca_progress();
		nanosleep(&pause, NULL);
	}
}

int hca_destroy_qp(void *handle)
{
	struct hca_qp *qp = handle;
	if (qp->groups)
		return -EBUSY;
	let_datagrams_go(qp);
	hca_progress_output();
	hca_qp_end(qp);
	return 0;
}

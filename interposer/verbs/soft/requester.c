/* The sending side of RC and UC: requests become frames, in order. */
#include <string.h>
#include "conn.h"
#include "progress.h"
#include "requester.h"

bool hca_is_read(const struct hca_wqe *w)
{
	return w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_local(const struct hca_wqe *w)
{
	return w->opcode == IBV_WR_BIND_MW || w->opcode == IBV_WR_LOCAL_INV;
}

void hca_sq_fail(struct hca_qp *qp, struct hca_wqe *w, enum ibv_wc_status status)
{
	if (!w->started)
		w->seq = qp->sq.seq;
	w->status = status;
	w->started = true;
	qp->sq.stopped = true;
	list_remove(&qp->sq.link);
	hca_sq_complete(qp);
}

static void wait_until(struct hca_qp *qp, uint64_t delay)
{
	list_remove(&qp->sq.link);
	hca_timer_set(&qp->sq.timer, &qp->sq.due, delay == UINT64_MAX ? delay : hca_now() + delay);
}

void hca_sq_again(struct hca_qp *qp, unsigned from, uint64_t delay)
{
	struct hca_send_queue *sq = &qp->sq;
	bool first = true;
	sq->attempt++;
	for (unsigned i = from; (int)(i - sq->next) <= 0 && i != sq->tail; i++) {
		struct hca_wqe *w = hca_sq_at(sq, i);
		if (!w->started || is_local(w))
			continue;
		if (first)
			sq->seq = w->seq;
		first = false;
		if (hca_is_read(w) && !w->done)
			sq->reads--;
		w->started = w->done = false;
		w->sent = w->got = 0;
	}
	sq->next = from;
	wait_until(qp, delay);
}

void hca_sq_retry(struct hca_qp *qp, unsigned from)
{
	struct hca_send_queue *sq = &qp->sq;
	if (!sq->retries) {
		hca_sq_fail(qp, hca_sq_at(sq, from), IBV_WC_RETRY_EXC_ERR);
		return;
	}
	sq->retries--;
	/* 4.096 us * 2^timeout; 0: infinite */
	hca_sq_again(qp, from, qp->attr.timeout ? (uint64_t)4096 << qp->attr.timeout : UINT64_MAX);
}

void hca_sq_timer(struct hca_qp *qp)
{
	qp->sq.due = 0;
	hca_sq_start(qp);
}

/* UC with an unreachable peer: requests complete without having been sent, as on hardware. */
static void send_nowhere(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	for (; sq->next != sq->tail; sq->next++) {
		struct hca_wqe *w = hca_sq_at(sq, sq->next);
		w->started = w->done = true;
	}
	hca_sq_complete(qp);
}

static void unreachable(struct hca_qp *qp)
{
	if (qp->type == IBV_QPT_RC)
		hca_sq_retry(qp, qp->sq.lost ? qp->sq.head : qp->sq.next);
	else
		send_nowhere(qp);
}

void hca_sq_conn_lost(struct hca_qp *qp, bool was_up)
{
	struct hca_send_queue *sq = &qp->sq;
	list_remove(&sq->link);
	sq->conn = NULL;
	if (qp->type == IBV_QPT_UD) {
		hca_ud_conn_lost(qp);
		return;
	}
	if (qp->type == IBV_QPT_RC)
		sq->lost |= was_up;
	if (sq->head != sq->tail && !sq->stopped && !sq->due && (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD))
		unreachable(qp);
}

void hca_sq_start(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	int rc;
	if ((qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD) || sq->due || sq->stopped || sq->head == sq->tail)
		return;
	if (sq->lost) {
		unreachable(qp);
		return;
	}
	if (sq->next == sq->tail)
		return;
	if (qp->type == IBV_QPT_UD) {
		if (qp->state != IBV_QPS_RTS)
			return;
		sq->conn = hca_ud_conn(qp);
		if (!sq->conn)
			return;
	} else if (!sq->conn) {
		sq->conn = hca_conn_to(qp->peer_ip, qp->peer_port, &rc);
		if (!sq->conn) {
			unreachable(qp);
			return;
		}
	}
	if (list_empty(&sq->link))
		list_append(&sq->conn->senders, &sq->link);
	hca_conn_touch(sq->conn);
}

/* Checks a request's memory before it is begun; returns the status with which it fails, or IBV_WC_SUCCESS. */
static enum ibv_wc_status check_local(const struct hca_qp *qp, const struct hca_wqe *w)
{
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n;
	if (w->status)
		return w->status;
	if (hca_is_read(w) && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	if (!(w->flags & IBV_SEND_INLINE) &&
	    !hca_gather(qp->pd, w->sge, w->nsge, 0, w->length, hca_is_read(w), spans, &n))
		return IBV_WC_LOC_PROT_ERR;
	return IBV_WC_SUCCESS;
}

static void carry_out_local(struct hca_qp *qp, struct hca_wqe *w)
{
	if (w->opcode == IBV_WR_BIND_MW)
		w->status = w->status ? w->status : hca_mw_bind(qp, w->rkey, w->region, &w->bind);
	else if (!hca_mw_invalidate(qp, w->extra))
		w->status = IBV_WC_MW_BIND_ERR;
	if (w->status)
		qp->sq.stopped = true;
	else
		qp->sq.next++;
	w->done = true;
}

/* Begins a request.  False: it must wait, or it has failed. */
static bool begin(struct hca_qp *qp, struct hca_wqe *w)
{
	struct hca_send_queue *sq = &qp->sq;
	if (qp->state != IBV_QPS_RTS || ((w->flags & IBV_SEND_FENCE) && sq->reads))
		return false;
	if (is_local(w)) {
		w->started = true;
		carry_out_local(qp, w);
		hca_sq_complete(qp);
		return true;
	}
	if (hca_is_read(w) && qp->attr.max_rd_atomic && sq->reads >= qp->attr.max_rd_atomic)
		return false;
	enum ibv_wc_status status = check_local(qp, w);
	if (status) {
		hca_sq_fail(qp, w, status);
		return false;
	}
	w->started = true;
	w->seq = sq->seq;
	sq->seq = (sq->seq + 1) & FRAME_NUMBERS;
	if (hca_is_read(w))
		sq->reads++;
	return true;
}

static struct frame header(const struct hca_qp *qp, const struct hca_wqe *w)
{
	struct frame f = {.attempt = qp->sq.attempt,
			  .dest = qp->attr.dest_qp_num,
			  .source = qp->number,
			  .seq = w->seq,
			  .addr = w->addr,
			  .rkey = w->rkey,
			  .total = w->length};
	if (w->flags & IBV_SEND_SOLICITED)
		f.flags |= FRAME_SOLICITED;
	switch (w->opcode) {
	case IBV_WR_SEND_WITH_IMM: f.flags |= FRAME_IMM; break;
	case IBV_WR_SEND_WITH_INV: f.flags |= FRAME_INVALIDATE; break;
	case IBV_WR_RDMA_WRITE: f.flags = 0; break;
	case IBV_WR_RDMA_WRITE_WITH_IMM: f.flags |= FRAME_IMM; break;
	default: break;
	}
	if (f.flags & (FRAME_IMM | FRAME_INVALIDATE))
		f.extra = w->extra;
	return f;
}

static void send_atomic(struct hca_conn *conn, struct frame *f, const struct hca_wqe *w)
{
	uint64_t operands[2] = {w->compare, w->swap};
	f->op = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? FRAME_CMP_SWAP : FRAME_FETCH_ADD;
	f->flags = 0;
	f->total = f->length = sizeof(operands);
	uint8_t *to = hca_conn_put(conn, f);
	if (to)
		memcpy(to, operands, sizeof(operands));
}

/* Sends one frame, with so many bytes of the request.  False: its memory is not accessible any more. */
static bool send_part(struct hca_qp *qp, struct hca_conn *conn, const struct hca_wqe *w, uint32_t *bytes)
{
	struct frame f = header(qp, w);
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n;
	if (w->opcode == IBV_WR_RDMA_READ) {
		f.op = FRAME_READ;
		f.flags = 0;
		hca_conn_put(conn, &f);
		*bytes = w->length;
		return true;
	}
	if (hca_is_read(w)) {
		send_atomic(conn, &f, w);
		*bytes = w->length;
		return true;
	}
	f.op = w->opcode == IBV_WR_RDMA_WRITE || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? FRAME_WRITE : FRAME_SEND;
	f.offset = w->sent;
	f.length = w->length - w->sent < FRAME_PAYLOAD ? w->length - w->sent : FRAME_PAYLOAD;
	if (w->flags & IBV_SEND_INLINE) {
		uint8_t *to = hca_conn_put(conn, &f);
		if (to && f.length)
			memcpy(to, w->data + f.offset, f.length);
	} else {
		if (!hca_gather(qp->pd, w->sge, w->nsge, f.offset, f.length, false, spans, &n))
			return false;
		/* A UC request completes when its last frame is queued; the program may reuse the memory then, so copy. */
		if (!hca_conn_put_spans(conn, &f, qp, spans, n, qp->type != IBV_QPT_RC))
			return false;
	}
	*bytes = f.length;
	return true;
}

bool hca_sq_step(struct hca_qp *qp, struct hca_conn *conn)
{
	struct hca_send_queue *sq = &qp->sq;
	while (sq->next != sq->tail && !sq->stopped && !sq->due &&
	       (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)) {
		struct hca_wqe *w = hca_sq_at(sq, sq->next);
		if (w->done && is_local(w)) {
			sq->next++; /* done before; requests around it are being sent again */
			continue;
		}
		if (!w->started) {
			if (!begin(qp, w))
				break;
			if (is_local(w))
				continue;
		}
		uint32_t bytes;
		if (!send_part(qp, conn, w, &bytes)) {
			hca_sq_fail(qp, w, IBV_WC_LOC_PROT_ERR);
			break;
		}
		if (conn->state == CONN_DEAD) /* for want of memory; its requests begin again, or have ended */
			return false;
		w->sent += bytes;
		if (w->sent == w->length) {
			sq->next++;
			if (qp->type == IBV_QPT_UC) {
				w->done = true;
				hca_sq_complete(qp);
			}
		}
		return true;
	}
	list_remove(&sq->link);
	return false;
}

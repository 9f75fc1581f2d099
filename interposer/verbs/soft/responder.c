/* The receiving side of RC and UC: messages go to posted receives or to registered memory. */
#include <string.h>
#include "conn.h"
#include "qp.h"
#include "responder.h"

bool hca_rx_take_recv(struct hca_qp *qp, struct hca_recv *recv)
{
	return qp->srq ? hca_srq_take(qp->srq, recv) : hca_rq_take(&qp->rq, recv);
}

void hca_rx_complete(struct hca_qp *qp, const struct hca_recv *recv, struct ibv_wc *wc, bool solicited)
{
	wc->wr_id = recv->wr_id;
	wc->qp_num = qp->number;
	if (wc->status)
		wc->opcode = IBV_WC_RECV;
	hca_cq_tell(wc, true, solicited, 0);
	hca_cq_push(qp->rcq, wc, solicited);
}

static void complete_recv(struct hca_qp *qp, struct ibv_wc *wc, bool solicited)
{
	qp->rx.has_recv = false;
	hca_rx_complete(qp, &qp->rx.recv, wc, solicited);
}

static void recv_failed(struct hca_qp *qp, enum ibv_wc_status status)
{
	struct ibv_wc wc = {.status = status};
	if (qp->rx.has_recv)
		complete_recv(qp, &wc, false);
}

void hca_rx_flush(struct hca_qp *qp)
{
	recv_failed(qp, IBV_WC_WR_FLUSH_ERR);
	qp->rx.active = false;
}

static void drop(struct hca_conn *conn, const struct frame *f)
{
	if (frame_last(f) || f->op == FRAME_READ)
		hca_rx_answer(conn, f, FRAME_DROPPED, 0);
}

void hca_rx_answer(struct hca_conn *conn, const struct frame *f, enum frame_op op, uint8_t code)
{
	struct frame a = {.op = (uint8_t)op,
			  .code = code,
			  .attempt = f->attempt,
			  .dest = f->source,
			  .source = f->dest,
			  .seq = f->seq};
	hca_conn_put(conn, &a);
	hca_conn_touch(conn);
}

void hca_rx_refuse(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f, enum frame_nak nak,
		   enum ibv_wc_status recv_status)
{
	qp->rx.active = false;
	if (qp->type == IBV_QPT_UC && recv_status == IBV_WC_SUCCESS)
		return; /* UC: drop it silently */
	if (qp->type == IBV_QPT_RC &&
	    !hca_answer_put(qp, conn, &(struct hca_answer){.seq = f->seq, .attempt = f->attempt, .nak = nak}))
		hca_rx_answer(conn, f, FRAME_NAK, nak);
	if (recv_status)
		recv_failed(qp, recv_status);
	else
		hca_async_raise(qp->pd->context, nak == NAK_ACCESS ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR, qp,
				0);
	hca_qp_fail(qp);
}

static const struct hca_pd *recv_pd(const struct hca_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->pd;
}

/* Takes a receive for this message.  False: there is none; RC has answered RNR. */
static bool get_recv(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	if (qp->rx.has_recv || hca_rx_take_recv(qp, &qp->rx.recv)) {
		qp->rx.has_recv = true;
		return true;
	}
	if (qp->type == IBV_QPT_RC)
		hca_rx_answer(conn, f, FRAME_RNR, qp->attr.min_rnr_timer);
	return false;
}

static bool send_begins(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n;
	if (!get_recv(qp, conn, f))
		return false;
	const struct hca_recv *r = &qp->rx.recv;
	if (f->total > hca_sge_bytes(r->sge, r->nsge)) {
		hca_rx_refuse(qp, conn, f, NAK_INVALID_REQUEST, IBV_WC_LOC_LEN_ERR);
		return false;
	}
	if (!hca_gather(recv_pd(qp), r->sge, r->nsge, 0, f->total, true, spans, &n)) {
		hca_rx_refuse(qp, conn, f, NAK_OPERATION, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	return true;
}

static bool write_begins(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct hca_span span;
	if (!hca_key_remote(qp, f->rkey, f->addr, f->total, IBV_ACCESS_REMOTE_WRITE, &span)) {
		hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_SUCCESS);
		return false;
	}
	return !(f->flags & FRAME_IMM) || get_recv(qp, conn, f);
}

static void read_asked(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct hca_span span;
	struct hca_answer a = {
		.seq = f->seq, .attempt = f->attempt, .rkey = f->rkey, .addr = f->addr, .total = f->total};
	if (!hca_key_remote(qp, f->rkey, f->addr, f->total, IBV_ACCESS_REMOTE_READ, &span))
		hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_SUCCESS);
	else if (qp->rx.count >= qp->attr.max_dest_rd_atomic)
		hca_rx_refuse(qp, conn, f, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
	else if (hca_answer_add(qp, conn, &a)) {
		qp->rx.seq = (f->seq + 1) & FRAME_NUMBERS;
		hca_rx_taken(qp, f, 0);
	}
}

static bool atomic_begins(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct hca_span span;
	if (f->addr & 7 || !qp->attr.max_dest_rd_atomic)
		hca_rx_refuse(qp, conn, f, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
	else if (!hca_key_remote(qp, f->rkey, f->addr, 8, IBV_ACCESS_REMOTE_ATOMIC, &span))
		hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_SUCCESS);
	else
		return true;
	return false;
}

static bool message_begins(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	bool good = false;
	if (qp->rx.active && qp->type == IBV_QPT_RC) {
		hca_rx_refuse(qp, conn, f, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
		return false;
	}
	qp->rx.active = false;
	qp->rx.conn = conn;
	switch ((enum frame_op)f->op) {
	case FRAME_SEND: good = send_begins(qp, conn, f); break;
	case FRAME_WRITE: good = write_begins(qp, conn, f); break;
	case FRAME_READ: read_asked(qp, conn, f); break;
	default: good = atomic_begins(qp, conn, f); break;
	}
	if (!good)
		return false;
	qp->rx.active = true;
	qp->rx.first = *f;
	qp->rx.received = 0;
	return true;
}

/* Whether a frame continues the message under way. */
static bool continues(const struct hca_responder *rx, const struct hca_conn *conn, const struct frame *f)
{
	const struct frame *m = &rx->first;
	return rx->active && rx->conn == conn && f->seq == m->seq && f->attempt == m->attempt;
}

static bool same_message(const struct hca_responder *rx, const struct frame *f)
{
	const struct frame *m = &rx->first;
	return f->op == m->op && f->flags == m->flags && f->total == m->total && f->addr == m->addr &&
	       f->rkey == m->rkey && f->extra == m->extra && f->offset == rx->received;
}

/* Sets the sink for this part of the message.  False: its memory is not valid. */
static bool aim(struct hca_qp *qp, const struct frame *f, struct hca_sink *sink)
{
	sink->qp = qp;
	if (f->op == FRAME_CMP_SWAP || f->op == FRAME_FETCH_ADD) {
		sink->kind = SINK_SMALL;
		return true;
	}
	sink->kind = SINK_SPANS;
	if (f->op == FRAME_SEND)
		return hca_gather(recv_pd(qp), qp->rx.recv.sge, qp->rx.recv.nsge, f->offset, f->length, true,
				  sink->spans, &sink->nspans);
	sink->nspans = 1;
	return hca_key_remote(qp, f->rkey, f->addr + f->offset, f->length, IBV_ACCESS_REMOTE_WRITE, &sink->spans[0]);
}

static struct hca_qp *whose(const struct hca_conn *conn, const struct frame *f)
{
	struct hca_qp *qp = hca_qp_find(f->dest);
	if (!qp || !hca_qp_hears(qp) || qp->attr.dest_qp_num != f->source || conn->slot != f->source >> HCA_SLOT_SHIFT)
		return NULL;
	if (qp->type == IBV_QPT_RC)
		return qp->rx.gone || (qp->rx.conn && qp->rx.conn != conn) ? NULL : qp;
	return qp->type == IBV_QPT_UC && (f->op == FRAME_SEND || f->op == FRAME_WRITE) ? qp : NULL;
}

void hca_rx_begin(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink)
{
	struct hca_qp *qp = whose(conn, f);
	if (!qp) {
		drop(conn, f);
		return;
	}
	if (qp->state == IBV_QPS_RTR && !qp->established) {
		qp->established = true;
		hca_async_raise(qp->pd->context, IBV_EVENT_COMM_EST, qp, 0);
	}
	if (frame_first(f)) {
		if (qp->type == IBV_QPT_RC && f->seq != qp->rx.seq) {
			drop(conn, f);
			return;
		}
		if (!message_begins(qp, conn, f))
			return;
	} else if (!continues(&qp->rx, conn, f)) {
		drop(conn, f);
		return;
	} else if (!same_message(&qp->rx, f)) {
		hca_rx_refuse(qp, conn, f, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
		return;
	}
	if (!aim(qp, f, sink)) {
		*sink = (struct hca_sink){0};
		hca_rx_refuse(qp, conn, f, f->op == FRAME_SEND ? NAK_OPERATION : NAK_ACCESS,
			      f->op == FRAME_SEND ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
	}
}

static void ack(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct hca_responder *rx = &qp->rx;
	rx->seq = (f->seq + 1) & FRAME_NUMBERS;
	if (qp->type != IBV_QPT_RC)
		return;
	rx->ack_seq = f->seq;
	rx->ack_attempt = f->attempt;
	if (list_empty(&rx->ack_link))
		list_append(&conn->acks, &rx->ack_link);
	hca.acks_waiting = true;
}

void hca_rx_send_ack(struct hca_qp *qp, struct hca_conn *conn)
{
	struct frame a = {.op = FRAME_ACK,
			  .attempt = qp->rx.ack_attempt,
			  .dest = qp->attr.dest_qp_num,
			  .source = qp->number,
			  .seq = qp->rx.ack_seq};
	list_remove(&qp->rx.ack_link);
	hca_conn_put(conn, &a);
}

static void message_ends(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .byte_len = f->total};
	qp->rx.active = false;
	if (f->op == FRAME_CMP_SWAP || f->op == FRAME_FETCH_ADD) {
		hca_atomic(qp, conn, f);
		return;
	}
	if (f->flags & FRAME_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = f->extra;
	}
	if (f->op == FRAME_WRITE)
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (f->flags & FRAME_INVALIDATE) {
		if (!hca_mw_invalidate(qp, f->extra)) {
			hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_LOC_ACCESS_ERR);
			return;
		}
		wc.wc_flags |= IBV_WC_WITH_INV;
		wc.invalidated_rkey = f->extra;
	}
	ack(qp, conn, f);
	hca_rx_taken(qp, f, 0);
	wc.src_qp = f->source;
	if (f->op == FRAME_SEND || (f->flags & FRAME_IMM))
		complete_recv(qp, &wc, f->flags & FRAME_SOLICITED);
}

void hca_rx_end(struct hca_conn *conn, const struct frame *f, bool good)
{
	struct hca_qp *qp = conn->in.sink.qp;
	if (!qp || !qp->rx.active)
		return;
	if (!good) {
		hca_rx_refuse(qp, conn, f, f->op == FRAME_SEND ? NAK_OPERATION : NAK_ACCESS,
			      f->op == FRAME_SEND ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
		return;
	}
	qp->rx.received += f->length;
	if (frame_last(f))
		message_ends(qp, conn, f);
}

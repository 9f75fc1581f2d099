/* Answers of peers to our requests: acknowledgements, NAKs, data. */
#include "conn.h"
#include "requester.h"

/* min_rnr_timer's values (InfiniBand Architecture Specification, volume 1, table 45), in 10 us. */
static const uint32_t rnr_delays[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
					48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
					2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

/* seq of the first message that has not been sent completely. */
static uint32_t sent_until(const struct hca_send_queue *sq)
{
	if (sq->next != sq->tail) {
		const struct hca_wqe *w = hca_sq_at(sq, sq->next);
		if (w->started && !w->done)
			return w->seq;
	}
	return sq->seq;
}

/* The peer has received all messages before `seq`. */
static void acknowledged(struct hca_qp *qp, uint32_t seq)
{
	struct hca_send_queue *sq = &qp->sq;
	if (frame_seq_diff(seq, sq->acked) <= 0)
		return;
	sq->acked = seq;
	sq->retries = qp->attr.retry_cnt;
	sq->rnr_retries = qp->attr.rnr_retry;
	hca_sq_complete(qp);
}

static struct hca_wqe *find(const struct hca_send_queue *sq, uint32_t seq, unsigned *at)
{
	for (unsigned i = sq->head; i != sq->tail && (int)(i - sq->next) <= 0; i++) {
		struct hca_wqe *w = hca_sq_at(sq, i);
		if (w->started && !w->done && !w->status && w->opcode != IBV_WR_BIND_MW &&
		    w->opcode != IBV_WR_LOCAL_INV && w->seq == seq) {
			*at = i;
			return w;
		}
	}
	return NULL;
}

static void not_ready(struct hca_qp *qp, unsigned at, uint8_t code)
{
	struct hca_send_queue *sq = &qp->sq;
	if (qp->attr.rnr_retry < 7) {
		if (!sq->rnr_retries) {
			hca_sq_fail(qp, hca_sq_at(sq, at), IBV_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		sq->rnr_retries--;
	}
	hca_sq_again(qp, at, (uint64_t)rnr_delays[code] * 10000);
}

static void refused(struct hca_qp *qp, struct hca_wqe *w, uint8_t code)
{
	hca_sq_fail(qp, w,
		    code == NAK_ACCESS      ? IBV_WC_REM_ACCESS_ERR
		    : code == NAK_OPERATION ? IBV_WC_REM_OP_ERR
					    : IBV_WC_REM_INV_REQ_ERR);
}

static void data_begins(struct hca_conn *conn, struct hca_qp *qp, struct hca_wqe *w, const struct frame *f,
			struct hca_sink *sink)
{
	if (w->opcode != IBV_WR_RDMA_READ || f->total != w->length || f->offset != w->got) {
		hca_conn_fail(conn, "the peer sent an answer that fits no request");
		return;
	}
	if (!hca_gather(qp->pd, w->sge, w->nsge, f->offset, f->length, true, sink->spans, &sink->nspans)) {
		hca_sq_fail(qp, w, IBV_WC_LOC_PROT_ERR);
		return;
	}
	sink->kind = SINK_SPANS;
	sink->qp = qp;
}

static void arrived(struct hca_qp *qp, struct hca_wqe *w)
{
	w->done = true;
	qp->sq.reads--;
	acknowledged(qp, w->seq);
	qp->sq.retries = qp->attr.retry_cnt;
	hca_sq_complete(qp);
	hca_sq_start(qp);
}

static void atomic_arrived(struct hca_conn *conn, struct hca_qp *qp, struct hca_wqe *w, const struct frame *f)
{
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n;
	size_t done = 0;
	if (!hca_is_read(w) || w->opcode == IBV_WR_RDMA_READ) {
		hca_conn_fail(conn, "the peer sent an answer that fits no request");
		return;
	}
	if (!hca_gather(qp->pd, w->sge, w->nsge, 0, w->length, true, spans, &n)) {
		hca_sq_fail(qp, w, IBV_WC_LOC_PROT_ERR);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		if (!hca_copy_up(spans[i].addr, (const uint8_t *)&f->addr + done, spans[i].len)) {
			hca_sq_fail(qp, w, IBV_WC_LOC_PROT_ERR);
			return;
		}
		done += spans[i].len;
	}
	arrived(qp, w);
}

void hca_sq_answer(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink)
{
	struct hca_qp *qp = hca_qp_find(f->dest);
	unsigned at;
	if (!qp || qp->type != IBV_QPT_RC || qp->sq.conn != conn || qp->attr.dest_qp_num != f->source ||
	    (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	struct hca_send_queue *sq = &qp->sq;
	uint32_t after = (f->seq + 1) & FRAME_NUMBERS;
	if (f->op == FRAME_ACK) {
		if (frame_seq_diff(after, sent_until(sq)) <= 0)
			acknowledged(qp, after);
		return;
	}
	struct hca_wqe *w = f->attempt == sq->attempt ? find(sq, f->seq, &at) : NULL;
	if (!w)
		return;
	if (f->op == FRAME_READ_DATA) {
		data_begins(conn, qp, w, f, sink);
		return;
	}
	if (f->op == FRAME_ATOMIC_DATA) {
		atomic_arrived(conn, qp, w, f);
		return;
	}
	acknowledged(qp, f->seq);
	switch (f->op) {
	case FRAME_NAK: refused(qp, w, f->code); break;
	case FRAME_RNR: not_ready(qp, at, f->code); break;
	default: hca_sq_retry(qp, at); break;
	}
}

void hca_sq_answer_end(struct hca_conn *conn, const struct frame *f, bool good)
{
	struct hca_qp *qp = conn->in.sink.qp;
	unsigned at;
	struct hca_wqe *w = qp ? find(&qp->sq, f->seq, &at) : NULL;
	if (!w || f->attempt != qp->sq.attempt)
		return;
	if (!good) {
		hca_sq_fail(qp, w, IBV_WC_LOC_PROT_ERR);
		return;
	}
	w->got += f->length;
	if (w->got == w->length)
		arrived(qp, w);
}

/* Answering READs, piece by piece as the connection has room. */
#include <errno.h>
#include <stdlib.h>
#include "conn.h"
#include "responder.h"

int hca_rx_init(struct hca_qp *qp, unsigned reads)
{
	struct hca_responder *rx = &qp->rx;
	if (rx->count)
		return -EBUSY;
	struct hca_answer *answers = calloc(reads + 1, sizeof(*answers));
	if (!answers)
		return -ENOMEM;
	free(rx->answers);
	rx->answers = answers;
	rx->room = reads + 1; /* one more for a NAK */
	rx->head = 0;
	return 0;
}

static struct hca_answer *at(struct hca_responder *rx, unsigned i)
{
	return &rx->answers[(rx->head + i) % rx->room];
}

bool hca_answer_add(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a)
{
	struct hca_responder *rx = &qp->rx;
	if (rx->count >= rx->room)
		return false;
	*at(rx, rx->count++) = *a;
	if (list_empty(&rx->link))
		list_append(&conn->responders, &rx->link);
	hca_conn_touch(conn);
	return true;
}

bool hca_answer_put(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a)
{
	return qp->rx.count && hca_answer_add(qp, conn, a);
}

static void answer(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a, enum frame_op op, uint8_t code)
{
	struct frame f = {.seq = a->seq, .attempt = a->attempt, .source = qp->attr.dest_qp_num, .dest = qp->number};
	hca_rx_answer(conn, &f, op, code);
}

static void pop(struct hca_responder *rx)
{
	rx->head = (rx->head + 1) % rx->room;
	if (!--rx->count)
		list_remove(&rx->link);
}

bool hca_rx_step(struct hca_qp *qp, struct hca_conn *conn)
{
	struct hca_responder *rx = &qp->rx;
	struct hca_span span;
	if (!rx->count) {
		list_remove(&rx->link);
		return false;
	}
	struct hca_answer *a = at(rx, 0);
	if (a->nak) {
		answer(qp, conn, a, FRAME_NAK, a->nak);
		pop(rx);
		return true;
	}
	struct frame f = {.op = FRAME_READ_DATA,
			  .attempt = a->attempt,
			  .dest = qp->attr.dest_qp_num,
			  .source = qp->number,
			  .seq = a->seq,
			  .total = a->total,
			  .offset = a->sent};
	f.length = a->total - a->sent < FRAME_PAYLOAD ? a->total - a->sent : FRAME_PAYLOAD;
	if (!hca_key_remote(qp, a->rkey, a->addr + a->sent, f.length, IBV_ACCESS_REMOTE_READ, &span) ||
	    !hca_conn_put_spans(conn, &f, qp, &span, f.length ? 1 : 0, false)) {
		a->nak = NAK_ACCESS; /* the memory has gone since the request */
		hca_async_raise(qp->pd->context, IBV_EVENT_QP_ACCESS_ERR, qp, 0);
		hca_qp_fail(qp);
		return true;
	}
	a->sent += f.length;
	if (a->sent == a->total)
		pop(rx);
	return true;
}

void hca_rx_reset(struct hca_qp *qp)
{
	struct hca_responder *rx = &qp->rx;
	while (rx->count) {
		if (rx->conn && rx->conn->state == CONN_UP)
			answer(qp, rx->conn, at(rx, 0), FRAME_DROPPED, 0);
		pop(rx);
	}
	list_remove(&rx->link);
	list_remove(&rx->ack_link);
	rx->active = rx->has_recv = rx->gone = false;
	rx->conn = NULL;
}

void hca_rx_conn_lost(struct hca_qp *qp)
{
	struct hca_responder *rx = &qp->rx;
	while (rx->count)
		pop(rx);
	list_remove(&rx->link);
	list_remove(&rx->ack_link);
	rx->active = false;
	rx->conn = NULL;
	rx->gone = qp->type == IBV_QPT_RC;
}

/* Sending: marked connections take frames from their queue pairs, one from each in turn. */
#include "conn.h"
#include "progress.h"

static void acknowledge(struct hca_conn *c)
{
	while (!list_empty(&c->acks) && c->out.count < CONN_PIECES / 2)
		hca_rx_send_ack(list_entry(c->acks.next, struct hca_qp, rx.ack_link), c);
}

/* Takes a frame from the next responder and one from the next sender.  False: neither had any. */
static bool take_turn(struct hca_conn *c)
{
	bool any = false;
	if (!list_empty(&c->responders)) {
		struct hca_qp *qp = list_entry(c->responders.next, struct hca_qp, rx.link);
		any |= hca_rx_step(qp, c);
		if (!list_empty(&qp->rx.link)) {
			list_remove(&qp->rx.link);
			list_append(&c->responders, &qp->rx.link);
		}
	}
	if (!list_empty(&c->senders) && hca_conn_has_room(c)) {
		struct hca_qp *qp = list_entry(c->senders.next, struct hca_qp, sq.link);
		bool sent = qp->type == IBV_QPT_UD ? hca_ud_step(qp, c) : hca_sq_step(qp, c);
		any |= sent || !list_empty(&c->senders);
		if (qp->type == IBV_QPT_UD) {
			/* the next datagram may go to another peer */
			list_remove(&qp->sq.link);
			hca_sq_start(qp);
		} else if (sent && !list_empty(&qp->sq.link)) {
			list_remove(&qp->sq.link);
			list_append(&c->senders, &qp->sq.link);
		}
	}
	return any;
}

static void pump(struct hca_conn *c)
{
	size_t budget = CONN_READ_BUDGET;
	if (c->state == CONN_UP)
		acknowledge(c);
	for (;;) {
		while (hca_conn_has_room(c) && take_turn(c))
			continue;
		size_t queued = c->out.queued;
		if (!queued)
			return;
		hca_conn_flush(c);
		if (c->state != CONN_UP || c->out.blocked)
			return;
		if (list_empty(&c->senders) && list_empty(&c->responders))
			return;
		if (queued >= budget) {
			hca_conn_touch(c);
			return;
		}
		budget -= queued;
	}
}

void hca_pump(void)
{
	struct list now;
	list_init(&now);
	/* Connections that are marked meanwhile get a turn in the next round; after the last one they wait for the
	 * next call. */
	for (unsigned rounds = 0; rounds < 4 && !list_empty(&hca.touched); rounds++) {
		while (!list_empty(&hca.touched)) {
			struct list *l = hca.touched.next;
			list_remove(l);
			list_append(&now, l);
		}
		while (!list_empty(&now)) {
			struct hca_conn *c = list_entry(now.next, struct hca_conn, dirty);
			list_remove(&c->dirty);
			pump(c);
		}
	}
}

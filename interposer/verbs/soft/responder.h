/* Declarations that the parts of the responder share: messages (responder.c), READs (reads.c), atomics (atomics.c). */
#pragma once
#include "qp.h"

/* Reports a message that was carried out; `was`: the old value, for an atomic. */
static inline void hca_rx_taken(const struct hca_qp *qp, const struct frame *f, uint64_t was)
{
	if (hca.above->taken)
		hca.above->taken(f->source, f->dest, (f->seq - qp->attr.rq_psn) & FRAME_NUMBERS, was);
}
/* Answers this frame with one that has no payload. */
void hca_rx_answer(struct hca_conn *conn, const struct frame *f, enum frame_op op, uint8_t code);
/* The message cannot be carried out: sends a NAK and moves the queue pair to ERR.  recv_status: status of the receive,
 * if that is the cause, else IBV_WC_SUCCESS: raises an asynchronous event (UC: drops the message instead). */
void hca_rx_refuse(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f, enum frame_nak nak,
		   enum ibv_wc_status recv_status);
/* Queues an answer.  False: no room. */
bool hca_answer_add(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a);
/* Queues a NAK behind waiting answers.  False: no answer waits. */
bool hca_answer_put(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a);
/* Carries out an atomic whose operands have arrived. */
void hca_atomic(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f);

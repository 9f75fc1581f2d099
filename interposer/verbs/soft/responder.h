/* What the parts of the responder share: messages (responder.c), READs (reads.c), atomics (atomics.c). */
#ifndef RDB_HCA_RESPONDER_H
#define RDB_HCA_RESPONDER_H
#include "qp.h"

/* The message was carried out. */
static inline void hca_rx_taken(const struct hca_qp *qp, const struct frame *f, uint64_t was)
{
	if (hca.above->taken)
		hca.above->taken(f->source, f->dest, (f->seq - qp->attr.rq_psn) & FRAME_NUMBERS, was);
}
/* A short answer to this frame. */
void hca_rx_answer(struct hca_conn *conn, const struct frame *f, enum frame_op op, uint8_t code);
/* The message cannot be carried out: the queue pair goes to ERR.  recv_status: of the receive that it was for, if it
 * was that one's fault. */
void hca_rx_refuse(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f, enum frame_nak nak,
		   enum ibv_wc_status recv_status);
/* An answer to be made piece by piece.  False: no room. */
bool hca_answer_add(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a);
/* A refusal behind the answers that wait.  False: none do. */
bool hca_answer_put(struct hca_qp *qp, struct hca_conn *conn, const struct hca_answer *a);
/* Carries out an atomic whose operands have come. */
void hca_atomic(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f);

#endif

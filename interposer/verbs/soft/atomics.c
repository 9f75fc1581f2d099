/* Compare-and-swap and fetch-and-add, on 8 bytes in host order. */
#include <string.h>
#include "conn.h"
#include "responder.h"

void hca_atomic(struct hca_qp *qp, struct hca_conn *conn, const struct frame *f)
{
	uint64_t operands[2], was;
	struct hca_span span;
	/* The region may have gone while the operands arrived. */
	if (!hca_key_remote(qp, f->rkey, f->addr, sizeof(was), IBV_ACCESS_REMOTE_ATOMIC, &span)) {
		hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_SUCCESS);
		return;
	}
	memcpy(operands, conn->in.small, sizeof(operands));
	uint64_t *at = (uint64_t *)span.addr;
	/* Checks that the memory is mapped and writable; no thread of the program runs meanwhile. */
	if (hca_copy(&was, at, sizeof(was)) < sizeof(was) || hca_copy(at, &was, sizeof(was)) < sizeof(was)) {
		hca_rx_refuse(qp, conn, f, NAK_ACCESS, IBV_WC_SUCCESS);
		return;
	}
	if (f->op == FRAME_CMP_SWAP) {
		was = operands[0];
		__atomic_compare_exchange_n(at, &was, operands[1], false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	} else {
		was = __atomic_fetch_add(at, operands[0], __ATOMIC_SEQ_CST);
	}
	hca.above->wrote(at, sizeof(was));
	if (hca.above->arrival)
		hca.above->arrival(&(struct verbs_arrival){.upper = at,
							   .len = sizeof(was),
							   .source = f->source,
							   .dest = f->dest,
							   .number = (f->seq - qp->attr.rq_psn) & FRAME_NUMBERS});
	hca_rx_taken(qp, f, was);
	qp->rx.seq = (f->seq + 1) & FRAME_NUMBERS;
	struct frame a = {.op = FRAME_ATOMIC_DATA,
			  .attempt = f->attempt,
			  .dest = f->source,
			  .source = f->dest,
			  .seq = f->seq,
			  .addr = was};
	hca_conn_put(conn, &a);
	hca_conn_touch(conn);
}

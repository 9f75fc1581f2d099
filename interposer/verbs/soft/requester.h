/* What the two halves of the requester share: sending (requester.c), and what is made of answers (answers.c). */
#ifndef RDB_HCA_REQUESTER_H
#define RDB_HCA_REQUESTER_H
#include "qp.h"

/* A READ or an atomic: it is answered with data, and only so many may be under way. */
bool hca_is_read(const struct hca_wqe *w);
/* It will complete with this status, once those before it have completed; nothing more is begun. */
void hca_sq_fail(struct hca_qp *qp, struct hca_wqe *w, enum ibv_wc_status status);
/* From this request on all is sent again, after a while. */
void hca_sq_again(struct hca_qp *qp, unsigned from, uint64_t delay_ns);
/* The same, as the peer does not answer: so many times. */
void hca_sq_retry(struct hca_qp *qp, unsigned from);
/* The connection that the next datagram takes; NULL: there is none to send. */
struct hca_conn *hca_ud_conn(struct hca_qp *qp);
/* The connection for the next datagram was not to be had, or has ended. */
void hca_ud_conn_lost(struct hca_qp *qp);

#endif

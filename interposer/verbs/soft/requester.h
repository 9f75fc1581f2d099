/* Declarations that the two halves of the requester share: sending (requester.c), answers (answers.c). */
#pragma once
#include "qp.h"

/* READ or atomic: answered with data; max_rd_atomic of them may be under way. */
bool hca_is_read(const struct hca_wqe *w);
/* Makes the request complete with this status once all before it have completed; no other request is begun. */
void hca_sq_fail(struct hca_qp *qp, struct hca_wqe *w, enum ibv_wc_status status);
/* Sends all requests from `from` on again, after a delay (UINT64_MAX: never). */
void hca_sq_again(struct hca_qp *qp, unsigned from, uint64_t delay_ns);
/* The peer does not answer: sends again after the queue pair's timeout, or fails if no retries are left. */
void hca_sq_retry(struct hca_qp *qp, unsigned from);
/* Connection for the next datagram.  NULL: nothing to send; datagrams that cannot be sent are completed. */
struct hca_conn *hca_ud_conn(struct hca_qp *qp);
/* The connection of the next datagram has ended: completes the datagrams for its peer and goes on. */
void hca_ud_conn_lost(struct hca_qp *qp);

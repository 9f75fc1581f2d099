/* Posting send requests, and completing them in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "conn.h"
#include "qp.h"

int hca_sq_init(struct hca_qp *qp, const struct ibv_qp_cap *cap)
{
	struct hca_send_queue *sq = &qp->sq;
	sq->size = cap->max_send_wr ? cap->max_send_wr : 1;
	sq->max_sge = cap->max_send_sge ? cap->max_send_sge : 1;
	sq->max_inline = cap->max_inline_data;
	size_t sges = sq->max_sge * sizeof(struct ibv_sge), data = (sq->max_inline + 7) & ~7u;
	sq->stride = sizeof(struct hca_wqe) + (sges > data ? sges : data);
	sq->ring = calloc(sq->size, sq->stride);
	return sq->ring ? 0 : -ENOMEM;
}

void hca_sq_fini(struct hca_qp *qp)
{
	free(qp->sq.ring);
	free(qp->sq.targets);
	qp->sq.ring = NULL;
	qp->sq.targets = NULL;
}

void hca_sq_reset(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	sq->head = sq->next = sq->tail = 0;
	sq->reads = 0;
	sq->stopped = sq->lost = false;
	sq->due = 0;
	sq->conn = NULL;
	sq->attempt++;
}

struct hca_wqe *hca_sq_at(const struct hca_send_queue *sq, unsigned i)
{
	return (struct hca_wqe *)(sq->ring + (i % sq->size) * sq->stride);
}

static bool allowed(const struct hca_qp *qp, enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM: return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW: return qp->type != IBV_QPT_UD;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return qp->type == IBV_QPT_RC;
	default: return false;
	}
}

static bool carries_data(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV ||
	       op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int take_data(const struct hca_qp *qp, struct hca_wqe *w, const struct ibv_send_wr *wr)
{
	uint64_t bytes = hca_sge_bytes(wr->sg_list, (unsigned)wr->num_sge);
	if (bytes > FRAME_MESSAGE_MAX)
		w->status = IBV_WC_LOC_LEN_ERR;
	w->length = (uint32_t)bytes;
	w->nsge = (unsigned)wr->num_sge;
	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		if (w->nsge)
			memcpy(w->sge, wr->sg_list, w->nsge * sizeof(*w->sge));
		return 0;
	}
	if (!carries_data(wr->opcode) || bytes > qp->sq.max_inline)
		return -EINVAL;
	uint8_t *to = w->data;
	for (unsigned i = 0; i < w->nsge; i++) {
		if (hca_copy(to, (void *)wr->sg_list[i].addr, wr->sg_list[i].length) < wr->sg_list[i].length)
			return -EFAULT;
		to += wr->sg_list[i].length;
	}
	return 0;
}

static void take_target(const struct hca_qp *qp, struct hca_wqe *w, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		w->addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
		if (w->length != 8)
			w->status = IBV_WC_LOC_LEN_ERR;
		return;
	case IBV_WR_BIND_MW:
		w->bind = wr->bind_mw.bind_info;
		w->region = w->bind.mr ? ((struct hca_mr *)w->bind.mr)->key : 0;
		w->rkey = wr->bind_mw.rkey;
		if (w->rkey >> 8 != ((struct hca_mw *)wr->bind_mw.mw)->key >> 8)
			w->status = IBV_WC_MW_BIND_ERR;
		return;
	default: break;
	}
	if (qp->type == IBV_QPT_UD) {
		const struct hca_ah *ah = (const struct hca_ah *)wr->wr.ud.ah;
		w->ip = ah->ip;
		w->multicast = ah->multicast;
		w->group = ah->group;
		w->sgid_index = ah->sgid_index;
		w->dest = wr->wr.ud.remote_qpn & FRAME_NUMBERS;
		/* The highest bit asks for the queue pair's own Q_Key. */
		w->qkey = wr->wr.ud.remote_qkey & 0x80000000 ? qp->attr.qkey : wr->wr.ud.remote_qkey;
		if (w->length > FRAME_MTU)
			w->status = IBV_WC_LOC_LEN_ERR;
		return;
	}
	w->addr = wr->wr.rdma.remote_addr;
	w->rkey = wr->wr.rdma.rkey;
}

int hca_sq_put(struct hca_qp *qp, const struct ibv_send_wr *wr)
{
	struct hca_send_queue *sq = &qp->sq;
	if (qp->state < IBV_QPS_RTS || !allowed(qp, wr->opcode) || wr->num_sge < 0 ||
	    ((unsigned)wr->num_sge > sq->max_sge && !(wr->send_flags & IBV_SEND_INLINE)) ||
	    (qp->type == IBV_QPT_UD && !wr->wr.ud.ah))
		return -EINVAL;
	if (sq->tail - sq->head == sq->size)
		return -ENOMEM;
	struct hca_wqe *w = hca_sq_at(sq, sq->tail);
	*w = (struct hca_wqe){.wr_id = wr->wr_id, .opcode = wr->opcode, .flags = wr->send_flags, .extra = wr->imm_data};
	if (wr->opcode != IBV_WR_BIND_MW && wr->opcode != IBV_WR_LOCAL_INV) {
		int rc = take_data(qp, w, wr);
		if (rc)
			return rc;
	}
	take_target(qp, w, wr);
	sq->tail++;
	return 0;
}

static enum ibv_wc_opcode completed_as(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW: return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV: return IBV_WC_LOCAL_INV;
	default: return IBV_WC_SEND;
	}
}

/* `at`: number of the request, from 0 since RESET. */
static void complete_one(struct hca_qp *qp, unsigned at, enum ibv_wc_status status)
{
	const struct hca_wqe *w = hca_sq_at(&qp->sq, at);
	if (status == IBV_WC_SUCCESS && !qp->sig_all && !(w->flags & IBV_SEND_SIGNALED))
		return;
	struct ibv_wc wc = {
		.wr_id = w->wr_id, .status = status, .opcode = completed_as(w->opcode), .qp_num = qp->number};
	if (status == IBV_WC_SUCCESS &&
	    (w->opcode == IBV_WR_RDMA_READ || wc.opcode == IBV_WC_COMP_SWAP || wc.opcode == IBV_WC_FETCH_ADD))
		wc.byte_len = w->length;
	hca_cq_tell(&wc, false, false, at);
	hca_cq_push(qp->scq, &wc, false);
}

static bool finished(const struct hca_qp *qp, const struct hca_wqe *w)
{
	if (!w->started)
		return false;
	if (qp->type != IBV_QPT_RC || !carries_data(w->opcode))
		return w->done;
	return w->done || frame_seq_diff(w->seq, qp->sq.acked) < 0;
}

void hca_sq_complete(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	while (sq->head != sq->tail) {
		struct hca_wqe *w = hca_sq_at(sq, sq->head);
		enum ibv_wc_status status = w->status;
		if (!w->started || (!status && !finished(qp, w)))
			break;
		sq->head++;
		if ((int)(sq->next - sq->head) < 0)
			sq->next = sq->head; /* a request that failed before it was sent */
		complete_one(qp, sq->head - 1, status);
		if (status) {
			if (qp->state != IBV_QPS_ERR)
				hca_qp_fail_send(qp);
			return;
		}
	}
	if (qp->state == IBV_QPS_SQD && sq->head == sq->next && !qp->drained_told) {
		qp->drained_told = true;
		if (qp->sqd_notify)
			hca_async_raise(qp->pd->context, IBV_EVENT_SQ_DRAINED, qp, 0);
	}
}

void hca_sq_flush(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	/* A completion that finds its queue full fails the queue pair, which flushes the rest. */
	while (sq->head != sq->tail) {
		struct hca_wqe *w = hca_sq_at(sq, sq->head++);
		complete_one(qp, sq->head - 1,
			     w->started && finished(qp, w) && !w->status ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
	}
	sq->next = sq->head;
	sq->reads = 0;
	sq->due = 0;
	sq->stopped = false;
}

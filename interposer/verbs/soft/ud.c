/* Unreliable datagrams: one frame each, dropped if no receive is posted. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "conn.h"
#include "mcast.h"
#include "requester.h"

#define GRH_BYTES sizeof(struct ibv_grh)

int hca_create_ah(void *pd_handle, struct ibv_ah_attr *attr, void **out)
{
	struct hca_ah ah = {.pd = pd_handle};
	ah.multicast = attr->is_global && hca_is_group(&attr->grh.dgid);
	if (attr->port_num != 1 || (!ah.multicast && !hca_gid_address(attr, &ah.ip)))
		return -EINVAL;
	if (ah.multicast)
		ah.group = attr->grh.dgid;
	if (attr->is_global) {
		if (attr->grh.sgid_index >= hca.ngids)
			return -EINVAL;
		ah.sgid_index = attr->grh.sgid_index;
	}
	struct hca_ah *made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = ah;
	ah.pd->users++;
	*out = made;
	return 0;
}

int hca_destroy_ah(void *handle)
{
	struct hca_ah *ah = handle;
	ah->pd->users--;
	free(ah);
	return 0;
}

/* Connection to the next reachable member of the group; NULL: none is left. */
static struct hca_conn *conn_to_member(struct hca_send_queue *sq, struct hca_wqe *w)
{
	int rc;
	struct hca_conn *c = NULL;
	if (!sq->targets)
		sq->targets = malloc(sizeof(*sq->targets));
	if (!sq->targets)
		return NULL;
	if (!w->spread)
		hca_mcast_targets(&w->group, sq->targets);
	w->spread = true;
	struct hca_targets *to = sq->targets;
	while (to->at < to->n && !(c = hca_conn_to(to->to[to->at].ip, to->to[to->at].port, &rc)))
		to->at++;
	return c;
}

/* Datagrams that cannot be sent are lost, as on any network. */
struct hca_conn *hca_ud_conn(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	int rc;
	while (sq->next != sq->tail) {
		struct hca_wqe *w = hca_sq_at(sq, sq->next);
		struct hca_conn *c = w->multicast
					     ? conn_to_member(sq, w)
					     : hca_conn_to(w->ip, (uint16_t)(hca.base + (w->dest >> HCA_SLOT_SHIFT)),
							   &rc);
		if (c)
			return c;
		w->started = w->done = true;
		sq->next++;
	}
	hca_sq_complete(qp);
	return NULL;
}

void hca_ud_conn_lost(struct hca_qp *qp)
{
	struct hca_send_queue *sq = &qp->sq;
	const struct hca_wqe *first = NULL;
	for (; sq->next != sq->tail; sq->next++) {
		struct hca_wqe *w = hca_sq_at(sq, sq->next);
		if (w->multicast) {
			if (!first && w->spread)
				sq->targets->at++;
			break;
		}
		if (first && (w->ip != first->ip || w->dest >> HCA_SLOT_SHIFT != first->dest >> HCA_SLOT_SHIFT))
			break;
		first = w;
		w->started = w->done = true;
	}
	hca_sq_complete(qp);
	hca_sq_start(qp);
}

bool hca_ud_step(struct hca_qp *qp, struct hca_conn *conn)
{
	struct hca_send_queue *sq = &qp->sq;
	struct hca_wqe *w = hca_sq_at(sq, sq->next);
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n = 0;
	if (!w->status && !(w->flags & IBV_SEND_INLINE) &&
	    !hca_gather(qp->pd, w->sge, w->nsge, 0, w->length, false, spans, &n))
		w->status = IBV_WC_LOC_PROT_ERR;
	if (w->status) {
		hca_sq_fail(qp, w, w->status);
		return false;
	}
	struct frame f = {.op = FRAME_DATAGRAM,
			  .dest = w->dest,
			  .source = qp->number,
			  .seq = sq->next & FRAME_NUMBERS,
			  .total = w->length,
			  .length = w->length,
			  .qkey = w->qkey,
			  .addr = hca.gids[w->sgid_index].ip};
	if (w->multicast) {
		f.op = FRAME_MULTICAST;
		f.code = w->sgid_index;
		hca_frame_set_group(&f, &w->group);
	}
	if (w->flags & IBV_SEND_SOLICITED)
		f.flags |= FRAME_SOLICITED;
	if (w->opcode == IBV_WR_SEND_WITH_IMM) {
		f.flags |= FRAME_IMM;
		f.extra = w->extra;
	}
	if (w->flags & IBV_SEND_INLINE) {
		uint8_t *to = hca_conn_put(conn, &f);
		if (to && f.length)
			memcpy(to, w->data, f.length);
	} else if (!hca_conn_put_spans(conn, &f, qp, spans, n, true)) {
		w->status = IBV_WC_LOC_PROT_ERR;
		hca_sq_fail(qp, w, w->status);
		return false;
	}
	if (conn->state == CONN_DEAD) /* for want of memory; its datagrams are lost, this one as well */
		return false;
	if (w->multicast && ++sq->targets->at < sq->targets->n)
		return true;
	w->started = w->done = true;
	sq->next++;
	hca_sq_complete(qp);
	return true;
}

void hca_ud_begin(struct hca_conn *conn, const struct frame *f, struct hca_sink *sink)
{
	/* hca_ud_end() looks for a receive once the whole datagram is in the small buffer. */
	sink->kind = SINK_SMALL;
}

static void header(uint8_t *grh, const struct hca_conn *conn, const struct frame *f, const union ibv_gid *to)
{
	struct ibv_grh h = {.version_tclass_flow = htonl(6u << 28),
			    .paylen = htons((uint16_t)f->length),
			    .next_hdr = 0x1b,
			    .hop_limit = 64};
	uint32_t from = f->op == FRAME_DATAGRAM ? (uint32_t)f->addr : hca.gids[f->code < hca.ngids ? f->code : 0].ip;
	/* The sender's address: from the frame or, for another host, from the connection. */
	if (!hca_address_is_local(conn->ip))
		from = conn->ip;
	memset(h.sgid.raw + 10, 0xff, 2);
	memcpy(h.sgid.raw + 12, &from, 4);
	h.dgid = *to;
	memcpy(grh, &h, sizeof(h));
}

/* `to`: the GID it was sent to. */
static void deliver(struct hca_conn *conn, const struct frame *f, struct hca_qp *qp, const union ibv_gid *to)
{
	struct hca_recv r;
	struct hca_span spans[HCA_MAX_SGE];
	unsigned n;
	uint8_t whole[GRH_BYTES + FRAME_MTU];
	struct ibv_wc wc = {.opcode = IBV_WC_RECV,
			    .byte_len = (uint32_t)GRH_BYTES + f->length,
			    .src_qp = f->source,
			    .wc_flags = IBV_WC_GRH};
	if (!qp || qp->type != IBV_QPT_UD || !hca_qp_hears(qp) || f->qkey != qp->attr.qkey || !hca_rx_take_recv(qp, &r))
		return;
	if (hca.above->taken)
		hca.above->taken(f->source, f->dest, f->seq, 0);
	if (wc.byte_len > hca_sge_bytes(r.sge, r.nsge))
		wc.status = IBV_WC_LOC_LEN_ERR;
	else if (!hca_gather(qp->srq ? qp->srq->pd : qp->pd, r.sge, r.nsge, 0, wc.byte_len, true, spans, &n))
		wc.status = IBV_WC_LOC_PROT_ERR;
	header(whole, conn, f, to);
	memcpy(whole + GRH_BYTES, conn->in.small, f->length);
	const uint8_t *from = whole;
	for (unsigned i = 0; !wc.status && i < n; from += spans[i++].len)
		if (!hca_copy_up(spans[i].addr, from, spans[i].len))
			wc.status = IBV_WC_LOC_PROT_ERR;
	if (wc.status) {
		hca_rx_complete(qp, &r, &wc, false);
		hca_qp_fail(qp);
		return;
	}
	if (f->flags & FRAME_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = f->extra;
	}
	hca_rx_complete(qp, &r, &wc, f->flags & FRAME_SOLICITED);
}

struct arrived {
	struct hca_conn *conn;
	const struct frame *f;
	union ibv_gid group;
};

static void deliver_to_member(struct hca_qp *member, void *arg)
{
	const struct arrived *a = arg;
	deliver(a->conn, a->f, member, &a->group);
}

void hca_ud_end(struct hca_conn *conn, const struct frame *f, bool good)
{
	if (f->op != FRAME_MULTICAST) {
		deliver(conn, f, hca_qp_find(f->dest), &hca.gids[0].gid);
		return;
	}
	struct arrived a = {.conn = conn, .f = f};
	hca_frame_group(f, &a.group);
	hca_mcast_each(&a.group, deliver_to_member, &a);
}

/* Queue pairs, shared receive queues, work requests, multicast groups. */
#include <stddef.h>
#include "real.h"

int real_create_srq(void *pd, struct ibv_srq_init_attr *attr, void **srq)
{
	attr->srq_context = NULL;
	errno = 0;
	return real_made(ibv_create_srq(pd, attr), srq);
}

int real_modify_srq(void *srq, struct ibv_srq_attr *attr, int mask)
{
	return real_done(ibv_modify_srq(srq, attr, mask));
}

int real_query_srq(void *srq, struct ibv_srq_attr *attr)
{
	return real_done(ibv_query_srq(srq, attr));
}

int real_destroy_srq(void *srq)
{
	return real_done(ibv_destroy_srq(srq));
}

int real_post_srq_recv(void *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return real_done(ibv_post_srq_recv(srq, wr, bad));
}

int real_create_qp(const struct verbs_qp_links *links, struct ibv_qp_init_attr *attr, void **handle, uint32_t *qp_num)
{
	struct ibv_qp_init_attr asked = *attr;
	if (links->xrcd)
		return -EOPNOTSUPP;
	asked.qp_context = NULL;
	asked.send_cq = links->send_cq;
	asked.recv_cq = links->recv_cq;
	asked.srq = links->srq;
	errno = 0;
	struct ibv_qp *qp = ibv_create_qp(links->pd, &asked);
	int rc = real_made(qp, handle);
	attr->cap = asked.cap; /* actual values or, on failure, possible ones: ibv_create_qp(3) */
	if (!rc)
		*qp_num = qp->qp_num;
	return rc;
}

int real_modify_qp(void *qp, struct ibv_qp_attr *attr, int mask)
{
	return real_done(ibv_modify_qp(qp, attr, mask));
}

int real_query_qp(void *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	int rc = real_done(ibv_query_qp(qp, attr, mask, init));
	init->qp_context = NULL;
	init->send_cq = init->recv_cq = NULL;
	init->srq = NULL;
	return rc;
}

int real_destroy_qp(void *qp)
{
	return real_done(ibv_destroy_qp(qp));
}

int real_post_send(void *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	for (struct ibv_send_wr *w = wr; w; w = w->next)
		if (w->opcode == IBV_WR_BIND_MW)
			w->bind_mw.bind_info.mr = real_mr(w->bind_mw.bind_info.mr);
	return real_done(ibv_post_send(qp, wr, bad));
}

int real_post_recv(void *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return real_done(ibv_post_recv(qp, wr, bad));
}

int real_attach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid)
{
	return real_done(ibv_attach_mcast(qp, gid, lid));
}

int real_detach_mcast(void *qp, const union ibv_gid *gid, uint16_t lid)
{
	return real_done(ibv_detach_mcast(qp, gid, lid));
}

/* Queue pairs and shared receive queues: their life, and multicast groups. */
#include "numbers.h"
#include "plugin.h"
#include "synthetic_completions.h"
#include "completion_buffers.h"

int64_t verbs_create_srq(const uint64_t *a)
{
	FIND(pd, a[0], PD);
	struct object made = {.kind = SRQ, .parents = {pd}, .cookie = a[2]};
	struct ibv_srq_init_attr attr = made.made.srq = *(const struct ibv_srq_init_attr *)a[1];
	attr.srq_context = NULL;
	int rc = provider->create_srq(pd->handle, &attr, &made.handle);
	if (!rc)
		put(a[1] + offsetof(struct ibv_srq_init_attr, attr), &attr.attr, sizeof(attr.attr));
	return object_made(rc, &made);
}

int64_t verbs_modify_srq(const uint64_t *a)
{
	FIND(srq, a[0], SRQ);
	struct ibv_srq_attr attr = *(const struct ibv_srq_attr *)a[1];
	int mask = (int)a[2], rc = provider->modify_srq(srq->handle, &attr, mask);
	if (rc)
		return rc;
	if (mask & IBV_SRQ_MAX_WR)
		srq->made.srq.attr.max_wr = attr.max_wr;
	if (mask & IBV_SRQ_LIMIT)
		srq->made.srq.attr.srq_limit = attr.srq_limit;
	put(a[1], &attr, sizeof(attr));
	return 0;
}

int64_t verbs_query_srq(const uint64_t *a)
{
	FIND(srq, a[0], SRQ);
	struct ibv_srq_attr attr = {0};
	int rc = provider->query_srq(srq->handle, &attr);
	if (!rc)
		put(a[1], &attr, sizeof(attr));
	return rc;
}

int64_t verbs_destroy_srq(const uint64_t *a)
{
	return object_destroy(a[0], SRQ, provider->destroy_srq);
}

static void *handle_of(const struct object *o)
{
	return o ? o->handle : NULL;
}

/* Creates a queue pair with a number that, after a restart, no rank knows as that of another queue pair. */
static int create_free(const struct verbs_qp_links *links, struct ibv_qp_init_attr *asked, struct object *made)
{
	struct ibv_qp_init_attr attr = *asked;
	void *taken[16];
	unsigned ntaken = 0;
	int rc;
	while (!(rc = provider->create_qp(links, &attr, &made->handle, &made->made.qp.number)) && numbers_rebound &&
	       !number_free(NUMBER_QP, made->made.qp.number) && ntaken < 16) {
		taken[ntaken++] = made->handle;
		attr = *asked;
	}
	while (ntaken)
		provider->destroy_qp(taken[--ntaken]);
	*asked = attr;
	return rc;
}

int64_t verbs_create_qp(const uint64_t *a)
{
	FIND(pd, a[0], PD);
	struct object *send_cq = object_find(a[1], CQ), *recv_cq = object_find(a[2], CQ), *srq = object_find(a[3], SRQ);
	if ((a[1] && !send_cq) || (a[2] && !recv_cq) || (a[3] && !srq))
		return -EINVAL;
	struct object made = {.kind = QP, .parents = {pd, send_cq, recv_cq, srq}, .cookie = a[6]};
	struct ibv_qp_init_attr attr = *(const struct ibv_qp_init_attr *)a[5];
	attr.qp_context = NULL;
	attr.send_cq = attr.recv_cq = NULL;
	attr.srq = NULL;
	made.made.qp.init = attr;
	const struct verbs_qp_links links = {
		.pd = pd->handle, .send_cq = handle_of(send_cq), .recv_cq = handle_of(recv_cq), .srq = handle_of(srq)};
	made.made.qp.rank = NUMBERS_NO_RANK;
	int rc = create_free(&links, &attr, &made);
	if (!rc) {
		put(a[5] + offsetof(struct ibv_qp_init_attr, cap), &attr.cap, sizeof(attr.cap));
		put(a[7], &made.made.qp.number, sizeof(uint32_t));
	}
	return object_made(rc, &made);
}

int64_t verbs_modify_qp(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	struct ibv_qp_attr attr = *(const struct ibv_qp_attr *)a[1];
	int mask = (int)a[2];
	int rank = qp->made.qp.rank;
	if (numbers_rebound && (mask & (IBV_QP_DEST_QPN | IBV_QP_AV))) {
		if (!(mask & IBV_QP_DEST_QPN))
			attr.dest_qp_num = qp->made.qp.is.dest_qp_num;
		rank = qp_peer(&attr);
	}
	int rc = provider->modify_qp(qp->handle, &attr, mask);
	if (rc)
		return rc;
	qp->made.qp.rank = rank;
	if ((mask & IBV_QP_STATE) && attr.qp_state == IBV_QPS_RESET)
		completion_buffers_empty(qp);
	if (synthetic && (mask & IBV_QP_STATE) && attr.qp_state == IBV_QPS_RESET)
		synthetic_forget(qp);
	if (numbers_rebound && (mask & IBV_QP_STATE) && attr.qp_state == IBV_QPS_RESET)
		recreated_forget(number_lower(NUMBER_QP, qp->made.qp.number));
	qp_modified(qp, (const struct ibv_qp_attr *)a[1], mask);
	return 0;
}

int64_t verbs_query_qp(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	memset(&attr, 0, sizeof(attr));
	memset(&init, 0, sizeof(init));
	int rc = provider->query_qp(qp->handle, &attr, (int)a[2], &init);
	if (rc)
		return rc;
	/* the upper half fills in the pointers to the program's objects */
	init.qp_context = NULL;
	init.send_cq = init.recv_cq = NULL;
	init.srq = NULL;
	if (numbers_rebound) {
		attr.dest_qp_num = qp->made.qp.is.dest_qp_num;
		attr.ah_attr = qp->made.qp.is.ah_attr;
	}
	put(a[1], &attr, sizeof(attr));
	put(a[3], &init, sizeof(init));
	return 0;
}

int64_t verbs_destroy_qp(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	uint32_t number = qp->made.qp.number;
	if (!qp->users)
		completion_buffers_empty(qp);
	if (synthetic && !qp->users)
		synthetic_forget(qp);
	int64_t rc = object_destroy(a[0], QP, provider->destroy_qp);
	if (!rc && numbers_rebound) {
		recreated_forget(number_lower(NUMBER_QP, number));
		number_forget(NUMBER_QP, number);
	}
	return rc;
}

static int64_t multicast(const uint64_t *a, int (*call)(void *qp, const union ibv_gid *gid, uint16_t lid))
{
	FIND(qp, a[0], QP);
	union ibv_gid gid = *(const union ibv_gid *)a[1];
	return call(qp->handle, &gid, (uint16_t)a[2]);
}

int64_t verbs_attach_mcast(const uint64_t *a)
{
	return multicast(a, provider->attach_mcast);
}

int64_t verbs_detach_mcast(const uint64_t *a)
{
	return multicast(a, provider->detach_mcast);
}

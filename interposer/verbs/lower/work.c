/* Work requests: the program's lists, copied with the provider's handles in place of its pointers. */
#include "numbers.h"
#include "plugin.h"
#include "completion_buffers.h"

static struct {
	union {
		struct ibv_send_wr *send;
		struct ibv_recv_wr *recv;
		void *any;
	} wr;
	struct ibv_sge *sge;
	size_t wr_room, sge_room;
} copies;

static void *more(void *room, size_t *have, size_t want)
{
	if (want <= *have)
		return room;
	*have = 2 * want;
	void *p = realloc(room, *have);
	if (!p)
		host->fatal("out of memory for work requests");
	return p;
}

static struct ibv_sge *take_sges(size_t *used, const struct ibv_sge *list, int n)
{
	struct ibv_sge *to = copies.sge + *used;
	for (int i = 0; i < n; i++) {
		to[i] = list[i];
		to[i].lkey = lower_lkey(list[i].lkey);
	}
	*used += n > 0 ? (size_t)n : 0;
	return to;
}

/* Makes room for copies of n requests of `size` bytes with `sges` scatter/gather entries in all. */
static void make_room(size_t n, size_t size, size_t sges)
{
	copies.wr.any = more(copies.wr.any, &copies.wr_room, n * size);
	copies.sge = more(copies.sge, &copies.sge_room, sges * sizeof(*copies.sge));
}

/* Counts the requests of a list and their scatter/gather entries, for both kinds of requests. */
#define COUNT(first, n, sges) \
	for (const typeof(*(first)) *wr_ = (first); wr_; wr_ = wr_->next, (n)++) \
	(sges) += wr_->num_sge > 0 ? (size_t)wr_->num_sge : 0

static uint64_t bytes_of(const struct ibv_sge *list, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += list[i].length;
	return sum;
}

/* Address handle for the process that has queue pair *number now; changes *number to the current one.  Processes that
 * were at one address before the restart may be at different ones now. */
static void *address_now(struct object *ah, uint32_t *number)
{
	struct ibv_ah_attr attr = ah->made.ah.attr;
	const int rank = number_peer(number, &attr);
	if (rank == NUMBERS_NO_RANK)
		return ah->handle;
	struct ah_now *now = ah->made.ah.now;
	for (; now; now = now->next)
		if (now->rank == rank)
			return now->handle;
	now = malloc(sizeof(*now));
	if (!now || provider->create_ah(ah->parents[0]->handle, &attr, &now->handle)) {
		free(now);
		return NULL;
	}
	now->rank = rank;
	now->next = ah->made.ah.now;
	ah->made.ah.now = now;
	return now->handle;
}

/* Replaces pointers and keys by the provider's; 0 or EINVAL if an object does not exist. */
static int links(const struct object *qp, struct ibv_send_wr *wr, const struct ibv_send_wr *from, bool datagram)
{
	const int rank = qp->made.qp.rank;
	if (datagram) {
		const struct ibv_ah *ah = from->wr.ud.ah;
		struct object *o = ah ? object_find(ah->handle, AH) : NULL;
		if (!o)
			return EINVAL;
		wr->wr.ud.ah = numbers_rebound ? address_now(o, &wr->wr.ud.remote_qpn) : o->handle;
		return wr->wr.ud.ah ? 0 : EINVAL;
	}
	switch (from->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ: wr->wr.rdma.rkey = lower_rkey(rank, from->wr.rdma.rkey); break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: wr->wr.atomic.rkey = lower_rkey(rank, from->wr.atomic.rkey); break;
	case IBV_WR_LOCAL_INV: wr->invalidate_rkey = lower_own_rkey(from->invalidate_rkey); break;
	case IBV_WR_SEND_WITH_INV: wr->invalidate_rkey = lower_rkey(rank, from->invalidate_rkey); break;
	case IBV_WR_BIND_MW: {
		const struct ibv_mr *mr = from->bind_mw.bind_info.mr;
		struct object *window = object_find(from->bind_mw.mw->handle, MW),
			      *region = mr ? object_find(mr->handle, MR) : NULL;
		if (!window || (mr && !region))
			return EINVAL;
		wr->bind_mw.mw = window->handle;
		wr->bind_mw.rkey = lower_own_rkey(from->bind_mw.rkey);
		wr->bind_mw.bind_info.mr = region ? region->handle : NULL;
		break;
	}
	default: break;
	}
	return 0;
}

static void note(uint64_t wr_id, const struct ibv_sge *list, int n, uint32_t opcode, uint32_t flags)
{
	struct verbs_note_post post = {.wr_id = wr_id,
				       .bytes = bytes_of(list, n),
				       .opcode = opcode,
				       .flags = flags,
				       .from = n == 1 ? list->addr : 0};
	host->note(RDB_NOTE_VERBS, &post, sizeof(post));
}

void verbs_sent(const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		const bool data = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
				  wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_RDMA_WRITE ||
				  wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
		host->sent(wr, sizeof(*wr));
		if (wr->num_sge > 0)
			host->sent(wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
		for (int i = 0; data && i < wr->num_sge; i++)
			host->sent((const void *)wr->sg_list[i].addr, wr->sg_list[i].length);
	}
}

void verbs_receives(const struct ibv_recv_wr *wr)
{
	for (; wr; wr = wr->next) {
		host->sent(wr, sizeof(*wr));
		if (wr->num_sge > 0)
			host->sent(wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
	}
}

int64_t verbs_post_send(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	const struct ibv_send_wr *first = (void *)a[1];
	const bool datagram = qp->made.qp.init.qp_type == IBV_QPT_UD;
	size_t n = 0, sges = 0, used = 0;
	COUNT(first, n, sges);
	if (!n)
		return 0;
	make_room(n, sizeof(*copies.wr.send), sges);
	struct ibv_send_wr *own = copies.wr.send, *bad = NULL;
	size_t i = 0, wrong = n;
	int error = 0;
	for (const struct ibv_send_wr *wr = first; wr; wr = wr->next, i++) {
		own[i] = *wr;
		own[i].sg_list = take_sges(&used, wr->sg_list, wr->num_sge);
		own[i].next = wr->next ? &own[i + 1] : NULL;
		error = links(qp, &own[i], wr, datagram);
		if (error) {
			wrong = i;
			break;
		}
	}
	if (wrong < n && wrong)
		own[wrong - 1].next = NULL;
	if (wrong) {
		int rc = provider->post_send(qp->handle, own, &bad);
		if (rc) {
			error = -rc;
			wrong = bad ? (size_t)(bad - own) : 0;
		}
	}
	for (i = 0; i < wrong; i++) {
		note(own[i].wr_id, own[i].sg_list, own[i].num_sge, own[i].opcode, own[i].send_flags);
		completion_buffers_posted_send(qp, &own[i]);
	}
	return error ? verbs_bad(error, (uint32_t)wrong) : 0;
}

/* `qp`: the queue pair, or NULL for a shared receive queue. */
static int64_t post_receives(void *handle, struct object *qp, const struct ibv_recv_wr *first,
			     int (*post)(void *, struct ibv_recv_wr *, struct ibv_recv_wr **))
{
	size_t n = 0, sges = 0, used = 0, i = 0;
	COUNT(first, n, sges);
	if (!n)
		return 0;
	make_room(n, sizeof(*copies.wr.recv), sges);
	struct ibv_recv_wr *own = copies.wr.recv, *bad = NULL;
	for (const struct ibv_recv_wr *wr = first; wr; wr = wr->next, i++) {
		own[i] = *wr;
		own[i].sg_list = take_sges(&used, wr->sg_list, wr->num_sge);
		own[i].next = wr->next ? &own[i + 1] : NULL;
	}
	int rc = post(handle, own, &bad);
	size_t taken = !rc ? n : bad ? (size_t)(bad - own) : 0;
	for (i = 0; i < taken; i++) {
		note(own[i].wr_id, own[i].sg_list, own[i].num_sge, UINT32_MAX, 0);
		if (qp)
			completion_buffers_posted_recv(qp, &own[i]);
	}
	return rc ? verbs_bad(-rc, (uint32_t)taken) : 0;
}

int64_t verbs_post_recv(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	return post_receives(qp->handle, qp, (void *)a[1], provider->post_recv);
}

int64_t verbs_post_srq_recv(const uint64_t *a)
{
	FIND(srq, a[0], SRQ);
	return post_receives(srq->handle, NULL, (void *)a[1], provider->post_srq_recv);
}

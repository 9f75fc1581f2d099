/* Requests that a restart posts again: copies of those that the program posted. */
#include "restart.h"

bool restart_posts_wait;

void *restart_copied(const void *from, size_t len)
{
	void *p = malloc(len ? len : 1);
	if (!p)
		host->fatal("out of memory for a restart");
	if (len)
		memcpy(p, from, len);
	return p;
}

static void keep_send(struct plan_request *to, const struct ibv_send_wr *wr)
{
	to->have = true;
	to->wr.send = *wr;
	to->wr.send.next = NULL;
	struct ibv_sge *list = restart_copied(wr->sg_list, (wr->num_sge > 0 ? (size_t)wr->num_sge : 0) * sizeof(*list));
	to->wr.send.sg_list = list;
	for (int i = 0; (wr->send_flags & IBV_SEND_INLINE) && i < wr->num_sge; i++)
		list[i].addr = (uint64_t)restart_copied((const void *)list[i].addr, list[i].length);
	/* of the program's objects only the ids are used */
	const struct object *qp = object_find(to->object, QP);
	if (qp && qp->made.qp.init.qp_type == IBV_QPT_UD)
		to->wr.send.wr.ud.ah = restart_copied(wr->wr.ud.ah, sizeof(struct ibv_ah));
	if (wr->opcode == IBV_WR_BIND_MW) {
		to->wr.send.bind_mw.mw = restart_copied(wr->bind_mw.mw, sizeof(struct ibv_mw));
		if (wr->bind_mw.bind_info.mr)
			to->wr.send.bind_mw.bind_info.mr = restart_copied(wr->bind_mw.bind_info.mr,
									  sizeof(struct ibv_mr));
	}
}

static void keep_receive(struct plan_request *to, const struct ibv_recv_wr *wr)
{
	to->have = true;
	to->wr.recv = *wr;
	to->wr.recv.next = NULL;
	to->wr.recv.sg_list = restart_copied(wr->sg_list,
					     (wr->num_sge > 0 ? (size_t)wr->num_sge : 0) * sizeof(*wr->sg_list));
}

static uint32_t *count_of(uint32_t object, bool send)
{
	if (object >= restart.ncounts) {
		uint32_t n = 2 * object + 16;
		restart.counts = realloc(restart.counts, n * sizeof(*restart.counts));
		if (!restart.counts)
			host->fatal("out of memory for a restart");
		memset(restart.counts + restart.ncounts, 0, (n - restart.ncounts) * sizeof(*restart.counts));
		restart.ncounts = n;
	}
	return send ? &restart.counts[object].sends : &restart.counts[object].receives;
}

void restart_posted(bool send, const uint64_t *a, int64_t result)
{
	uint32_t left = result < 0 ? verbs_bad_index(result) : UINT32_MAX, *count = count_of((uint32_t)a[0], send);
	const struct ibv_send_wr *s = send ? (const void *)a[1] : NULL;
	const struct ibv_recv_wr *r = send ? NULL : (const void *)a[1];
	for (; left-- && (s || r); (*count)++) {
		struct plan_request *to = plan_request(&restart.plan, send, (uint32_t)a[0], *count);
		if (to && s)
			keep_send(to, s);
		else if (to)
			keep_receive(to, r);
		s = s ? s->next : NULL;
		r = r ? r->next : NULL;
	}
}

bool restart_is_posted_again(const struct plan_request *one)
{
	return !one->now && !one->answered;
}

/* The plan is sorted by ordinals, so each queue's requests are posted in their order. */
int restart_post_kept(bool send)
{
	for (unsigned i = 0; i < restart.plan.nrequests; i++) {
		struct plan_request *one = &restart.plan.requests[i];
		if (one->send != send || !restart_is_posted_again(one))
			continue;
		uint64_t a[2] = {one->object, (uint64_t)&one->wr};
		int64_t rc = !one->have                      ? -ENOENT
			     : send                          ? verbs_post_send(a)
			     : object_find(one->object, SRQ) ? verbs_post_srq_recv(a)
							     : verbs_post_recv(a);
		if (rc)
			return rc < 0 ? (int)-(-rc & 0xffff) : (int)rc;
	}
	return 0;
}

/* The branch's log has begun.  Requests posted again must not be noted as posts of the current call. */
static const struct rdb_host *told;

static void note_of_others(enum rdb_note what, const void *data, size_t len)
{
	if (what != RDB_NOTE_VERBS)
		told->note(what, data, len);
}

void restart_post(void)
{
	struct rdb_host posting = *host;
	restart_posts_wait = false;
	posting.note = note_of_others;
	told = host;
	host = &posting;
	int rc = restart_post_kept(true);
	host = told;
	if (rc)
		host->fatal("a send that was under way cannot be posted again: %s", strerror(-rc));
}

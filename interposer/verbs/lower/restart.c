/* Going live again: beside the log's answers the tables of objects become what they were; at the cut a provider makes
 * the objects again, the ranks tell each other where they are now, and what was under way is posted again.
 *
 * Which requests these are is in a plan (restart_plan.h): those whose message the peer had not carried out to its end
 * at its own cut, and those whose answer had not come.  A request is posted again once, whoever has or has not
 * seen it complete. */
#include <stdio.h>
#include <unistd.h>
#include "numbers.h"
#include "refill.h"
#include "restart_plan.h"

enum { SHOWN_GIDS = NUMBERS_GIDS };

static struct {
	bool begun;
	struct plan plan;
	char folder[4096]; /* of the branch */
	struct rdb_host quiet;
	const struct rdb_host *loud;
	struct {
		uint32_t sends, receives; /* posted so far */
	} * counts;                       /* by object */
	uint32_t ncounts;
	struct {
		unsigned index;
		union ibv_gid gid;
	} gids[SHOWN_GIDS]; /* that the program has asked for */
	unsigned ngids;
	uint16_t lid;
} restart;

bool restart_posts_wait;

static void no_out(void *upper, size_t len) {}
static void no_note(enum rdb_note what, const void *data, size_t len) {}

static const char *begin(void)
{
	char path[4200];
	if (restart.begun)
		return NULL;
	restart.begun = true;
	restart.loud = host;
	restart.quiet = *host;
	restart.quiet.out = no_out;
	restart.quiet.note = no_note;
	host = &restart.quiet;
	snprintf(restart.folder, sizeof(restart.folder), "%s/..", host->branch);
	snprintf(path, sizeof(path), "%s/verbs-plan-%d", restart.folder, host->rank);
	return plan_read(path, &restart.plan);
}

/* Where there are no devices the software HCA will do, unless devices were asked for. */
static const struct verbs_provider *restart_provider(void)
{
	const struct verbs_provider *p = provider_choose(host->hca);
	return p || !host->hca || strcmp(host->hca, "auto") ? p : provider_choose("soft");
}

const char *restart_join(void)
{
	char path[4200], folder[4096];
	struct plan plan = {0};
	snprintf(folder, sizeof(folder), "%s/..", host->dir);
	snprintf(path, sizeof(path), "%s/verbs-plan-%d", folder, host->rank);
	if (access(path, F_OK))
		return NULL;
	const char *why = plan_read(path, &plan);
	if (!provider)
		provider = restart_provider();
	return why || !plan.nranks ? why : numbers_learn(folder, plan.ranks, plan.nranks);
}

/* ---- requests that will be posted again ---- */

static void *copied(const void *from, size_t len)
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
	struct ibv_sge *list = copied(wr->sg_list, (wr->num_sge > 0 ? (size_t)wr->num_sge : 0) * sizeof(*list));
	to->wr.send.sg_list = list;
	for (int i = 0; (wr->send_flags & IBV_SEND_INLINE) && i < wr->num_sge; i++)
		list[i].addr = (uint64_t)copied((const void *)list[i].addr, list[i].length);
}

static void keep_receive(struct plan_request *to, const struct ibv_recv_wr *wr)
{
	to->have = true;
	to->wr.recv = *wr;
	to->wr.recv.next = NULL;
	to->wr.recv.sg_list = copied(wr->sg_list, (wr->num_sge > 0 ? (size_t)wr->num_sge : 0) * sizeof(*wr->sg_list));
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

static void posted(bool send, const uint64_t *a, int64_t result)
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

/* In the order in which they were posted. */
static int post_kept(bool send)
{
	for (unsigned i = 0; i < restart.plan.nrequests; i++) {
		struct plan_request *one = &restart.plan.requests[i];
		if (one->send != send || one->now || one->answered)
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

void restart_post(void)
{
	restart_posts_wait = false;
	int rc = post_kept(true);
	if (rc)
		host->fatal("a send that was under way cannot be posted again: %s", strerror(-rc));
}

/* ---- calls ---- */

static void seen_gid(const uint64_t *a)
{
	const struct ibv_gid_entry *entry = (const void *)a[3];
	if (restart.ngids == SHOWN_GIDS)
		return;
	for (unsigned i = 0; i < restart.ngids; i++)
		if (restart.gids[i].index == (unsigned)a[2])
			return;
	restart.gids[restart.ngids].index = (unsigned)a[2];
	restart.gids[restart.ngids++].gid = entry->gid;
}

static int64_t made(enum kind kind, struct object *parent, struct object *o)
{
	o->kind = kind;
	o->parents[0] = parent;
	return object_made(0, o);
}

/* Memory is as the program left it before the call. */
static const char *asked(unsigned call, const uint64_t *a, int64_t result)
{
	struct object o = {0};
	int64_t rc = result;
	switch (call) {
	case VERBS_POST_SEND: posted(true, a, result); return NULL;
	case VERBS_POST_RECV:
	case VERBS_POST_SRQ_RECV: posted(false, a, result); return NULL;
	default: break;
	}
	if (result < 0)
		return NULL;
	switch (call) {
	case VERBS_OPEN:
		o.cookie = a[1];
		o.made.context.device = (unsigned)a[0];
		o.made.context.shown_fd = -1;
		rc = made(CONTEXT, NULL, &o);
		break;
	case VERBS_CREATE_CHANNEL:
		o.made.shown_fd = -1;
		rc = made(CHANNEL, object_find(a[0], CONTEXT), &o);
		break;
	case VERBS_CLOSE:
	case VERBS_DESTROY_CHANNEL:
		host->descriptor((uint32_t)a[0], -1, -1);
		rc = call == VERBS_CLOSE ? verbs_close(a) : verbs_destroy_channel(a);
		break;
	case VERBS_ALLOC_PD: rc = verbs_alloc_pd(a); break;
	case VERBS_DEALLOC_PD: rc = verbs_dealloc_pd(a); break;
	case VERBS_REG_MR: rc = verbs_reg_mr(a); break;
	case VERBS_REREG_MR: rc = verbs_rereg_mr(a); break;
	case VERBS_DEREG_MR: rc = verbs_dereg_mr(a); break;
	case VERBS_ALLOC_MW: rc = verbs_alloc_mw(a); break;
	case VERBS_DEALLOC_MW: rc = verbs_dealloc_mw(a); break;
	case VERBS_BIND_MW: rc = verbs_bind_mw(a); break;
	case VERBS_CREATE_CQ: rc = verbs_create_cq(a); break;
	case VERBS_RESIZE_CQ: rc = verbs_resize_cq(a); break;
	case VERBS_DESTROY_CQ: rc = verbs_destroy_cq(a); break;
	case VERBS_CREATE_SRQ: rc = verbs_create_srq(a); break;
	case VERBS_MODIFY_SRQ: rc = verbs_modify_srq(a); break;
	case VERBS_DESTROY_SRQ: rc = verbs_destroy_srq(a); break;
	case VERBS_CREATE_QP: rc = verbs_create_qp(a); break;
	case VERBS_MODIFY_QP: rc = verbs_modify_qp(a); break;
	case VERBS_DESTROY_QP: rc = verbs_destroy_qp(a); break;
	case VERBS_CREATE_AH: rc = verbs_create_ah(a); break;
	case VERBS_DESTROY_AH: rc = verbs_destroy_ah(a); break;
	case VERBS_ATTACH_MCAST: return "it is in a multicast group, which cannot be brought back";
	default: break; /* it only asks */
	}
	return rc == result ? NULL : "one of its verbs objects cannot be followed";
}

/* What the program was told is there now. */
static void answered(unsigned call, const uint64_t *a, int64_t result)
{
	struct object *o;
	if (result < 0)
		return;
	switch (call) {
	case VERBS_OPEN:
		o = object_find((uint64_t)result, CONTEXT);
		o->made.context.shown_fd = ((const struct verbs_opened *)a[2])->async_fd;
		host->descriptor(o->id, o->made.context.shown_fd, -1);
		o->made.context.shown_fd = -1 - o->made.context.shown_fd; /* not ours to close yet */
		break;
	case VERBS_CREATE_CHANNEL:
		o = object_find((uint64_t)result, CHANNEL);
		host->descriptor(o->id, *(const int32_t *)a[1], -1);
		o->made.shown_fd = -1 - *(const int32_t *)a[1];
		break;
	case VERBS_REG_MR:
	case VERBS_REREG_MR: {
		const struct verbs_keys *keys = (const void *)a[call == VERBS_REG_MR ? 5 : 6];
		o = object_find(call == VERBS_REG_MR ? (uint64_t)result : a[0], MR);
		o->made.mr.lkey = keys->lkey;
		o->made.mr.rkey = keys->rkey;
		break;
	}
	case VERBS_ALLOC_MW: object_find((uint64_t)result, MW)->made.mw.rkey = *(const uint32_t *)a[2]; break;
	case VERBS_CREATE_QP: object_find((uint64_t)result, QP)->made.qp.number = *(const uint32_t *)a[7]; break;
	case VERBS_QUERY_GID: seen_gid(a); break;
	case VERBS_QUERY_PORT: restart.lid = ((const struct ibv_port_attr *)a[2])->lid; break;
	default: break;
	}
}

/* ---- the cut ---- */

static bool goes_everywhere(const struct ibv_gid_entry *e)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	return e->gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(e->gid.raw, mapped, sizeof(mapped)) &&
	       e->gid.raw[12] != 127;
}

/* The one of that number; over Ethernet one by which all hosts can be reached, if there is. */
static bool gid_now(const struct object *context, const struct ibv_port_attr *port, unsigned index,
		    struct ibv_gid_entry *now)
{
	struct ibv_gid_entry other = {0};
	bool good = !provider->query_gid(context->handle, 1, (int)index, now);
	now->gid_index = index;
	if (port->link_layer != IBV_LINK_LAYER_ETHERNET || (good && goes_everywhere(now)))
		return good;
	for (int i = 0; i < port->gid_tbl_len; i++)
		if (!provider->query_gid(context->handle, 1, i, &other) && goes_everywhere(&other)) {
			*now = other;
			now->gid_index = (uint32_t)i;
			return true;
		}
	return good;
}

/* Where this rank was, and is. */
static void bind_port(void)
{
	uint32_t next = 0;
	struct object *context;
	while ((context = object_next(&next)) && context->kind != CONTEXT)
		continue;
	if (!context)
		return;
	struct ibv_port_attr port = {0};
	provider->query_port(context->handle, 1, &port);
	numbers_bind_port(restart.lid, port.lid, port.link_layer == IBV_LINK_LAYER_ETHERNET);
	for (unsigned i = 0; i < restart.ngids; i++) {
		struct ibv_gid_entry now = {0};
		if (gid_now(context, &port, restart.gids[i].index, &now))
			numbers_bind_gid(restart.gids[i].index, &restart.gids[i].gid, now.gid_index, &now.gid);
	}
	struct ibv_gid_entry first = {0};
	if (!restart.ngids && gid_now(context, &port, 0, &first))
		numbers_bind_gid(0, &first.gid, first.gid_index, &first.gid);
}

static const char *fill_queues(void)
{
	for (unsigned i = 0; i < restart.plan.nqueues; i++) {
		const struct plan_queue *one = &restart.plan.queues[i];
		struct object *cq = object_find(one->object, CQ);
		if (!cq)
			return "the plan for its queue pairs names a completion queue that is not there";
		for (unsigned k = 0; k < one->queued.count; k++) {
			struct ibv_wc *wc = (struct ibv_wc *)&one->queued.completed[k].wc;
			struct ibv_ah_attr anywhere = {0};
			wc->qp_num = number_lower(NUMBER_QP, wc->qp_num);
			number_peer(&wc->src_qp, &anywhere);
		}
		int rc = provider->restore_cq ? provider->restore_cq(cq->handle, &one->queued)
					      : refill_queue(cq, &one->queued);
		if (rc)
			return "a completion queue of it cannot be filled with what was in it";
	}
	return NULL;
}

/* ---- answers that had not come: the target had done its part, so what follows may have been done, too ---- */

static const char *give_values(void)
{
	for (unsigned i = 0; i < restart.plan.nrequests; i++) {
		const struct plan_request *one = &restart.plan.requests[i];
		if (!one->answered)
			continue;
		const struct ibv_send_wr *wr = &one->wr.send;
		const uint8_t *from = (const uint8_t *)&one->value;
		size_t left = one->have ? sizeof(one->value) : 1;
		for (int k = 0; one->have && k < wr->num_sge && left; k++) {
			size_t n = wr->sg_list[k].length < left ? wr->sg_list[k].length : left;
			memcpy((void *)wr->sg_list[k].addr, from, n);
			from += n;
			left -= n;
		}
		if (left)
			return "an atomic of it cannot be found again";
	}
	return NULL;
}

static unsigned reads_left;
static const char *reads_wrong;

/* Other ranks may be reading here. */
static void progress(void)
{
	struct ibv_wc wc;
	uint32_t next = 0;
	provider->progress();
	for (struct object *o; (o = object_next(&next));)
		while (o->kind == CQ && provider->poll_cq(o->handle, 1, &wc) == 1) {
			reads_left--;
			if (wc.status)
				reads_wrong = "a READ that had been answered fails now";
		}
}

static const char *read_again(void)
{
	for (unsigned i = 0; i < restart.plan.nrequests; i++) {
		struct plan_request *one = &restart.plan.requests[i];
		if (!one->now)
			continue;
		one->wr.send.send_flags |= IBV_SEND_SIGNALED;
		if (!one->have || verbs_post_send((const uint64_t[]){one->object, (uint64_t)&one->wr}))
			return "a READ of it cannot be posted again";
		reads_left++;
	}
	const char *why = numbers_meet(restart.folder, "verbs-reads",
				       &(struct numbers_meeting){.rank = host->rank,
								 .ranks = restart.plan.ranks,
								 .nranks = restart.plan.nranks,
								 .meanwhile = progress,
								 .before = &reads_left});
	return reads_wrong ? reads_wrong : why;
}

static void descriptors_ours(void)
{
	uint32_t next = 0;
	for (struct object *o; (o = object_next(&next));) {
		int *fd = o->kind == CONTEXT   ? &o->made.context.shown_fd
			  : o->kind == CHANNEL ? &o->made.shown_fd
					       : NULL;
		if (fd)
			*fd = -1 - *fd;
	}
}

static bool any_sends(void)
{
	for (unsigned i = 0; i < restart.plan.nrequests; i++)
		if (restart.plan.requests[i].send && !restart.plan.requests[i].now &&
		    !restart.plan.requests[i].answered)
			return true;
	return false;
}

static const char *cut(void)
{
	const struct plan *plan = &restart.plan;
	provider = restart_provider();
	uint32_t next = 0;
	if (!provider)
		return object_next(&next) ? "there is no HCA here for its verbs" : NULL;
	if (provider->fork_status && provider->fork_status(false) != IBV_FORK_UNNEEDED)
		restart.loud->forks_break_dma();
	for (unsigned i = 0; i < plan->nfailed; i++) {
		struct object *qp = object_find(plan->failed[i], QP);
		if (qp)
			qp->made.qp.is.qp_state = IBV_QPS_ERR;
	}
	const char *why = recreate_objects();
	if (why)
		return why;
	const struct numbers_meeting everybody = {.rank = host->rank, .ranks = plan->ranks, .nranks = plan->nranks};
	bind_port();
	why = numbers_exchange(restart.folder, host->rank, plan->ranks, plan->nranks);
	if (!why)
		why = recreate_connections();
	if (!why)
		why = numbers_meet(restart.folder, "verbs-connected", &everybody);
	if (!why)
		why = read_again();
	if (!why)
		why = give_values();
	if (!why)
		why = fill_queues();
	if (!why && post_kept(false))
		why = "a receive of it cannot be posted again";
	/* who goes on now sends: everybody must be able to receive */
	if (!why)
		why = numbers_meet(restart.folder, "verbs-ready", &everybody);
	if (why)
		return why;
	descriptors_ours();
	host = restart.loud;
	restart_posts_wait = any_sends();
	if (restart_posts_wait)
		host->arrived();
	return NULL;
}

const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	const char *why = begin();
	if (why)
		return why;
	switch (step) {
	case RDB_RESTART_ASKED: return asked(fn & 0xffff, a, *result);
	case RDB_RESTART_ANSWERED: answered(fn & 0xffff, a, *result); return NULL;
	case RDB_RESTART_CUT: return cut();
	default: return "a message of its verbs is under way";
	}
}

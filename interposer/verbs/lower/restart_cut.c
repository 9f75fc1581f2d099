/* At the cut a provider makes the objects again, the ranks tell each other where they are now, and what was under way is
 * there again. */
#include "refill.h"
#include "restart.h"

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
	numbers_bind_port(restart.lids, restart.nlids, port.lid, port.link_layer == IBV_LINK_LAYER_ETHERNET);
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

/* Those that come of making queue pairs again are not the program's. */
static const char *bring_events(void)
{
	uint32_t next = 0;
	int type, port;
	void *handle;
	for (const struct object *o; (o = object_next(&next));)
		while (o->kind == CONTEXT && !provider->async_event(o->handle, &type, &handle, &port))
			continue;
	for (unsigned i = 0; i < restart.plan.nasync; i++) {
		const struct plan_async *one = &restart.plan.async[i];
		const struct object *context = object_find(one->context, CONTEXT),
				    *of = object_find(one->object, event_kind((int)one->type));
		if (!context || !of)
			return "the plan names an asynchronous event of nothing";
		if (provider->restore_event ? provider->restore_event(context->handle, (int)one->type, of->handle)
					    : refill_add_async(context, (int)one->type, of))
			return "an asynchronous event of it cannot be brought back";
	}
	return NULL;
}

static const char *join_groups(void)
{
	for (unsigned i = 0; i < restart.ngroups; i++) {
		const struct restart_group *one = &restart.groups[i];
		const struct object *qp = object_find(one->qp, QP);
		if (qp && provider->attach_mcast(qp->handle, &one->gid, one->lid))
			return "a queue pair of it cannot join its multicast group again";
	}
	return NULL;
}

static const char *arm_limits(void)
{
	for (unsigned i = 0; i < restart.plan.nlimits; i++) {
		const struct object *srq = object_find(restart.plan.limits[i].object, SRQ);
		struct ibv_srq_attr attr = {.srq_limit = restart.plan.limits[i].limit};
		if (!srq || provider->modify_srq(srq->handle, &attr, IBV_SRQ_LIMIT))
			return "the limit of a shared receive queue of it cannot be set again";
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
		if (restart.plan.requests[i].send && restart_is_posted_again(&restart.plan.requests[i]))
			return true;
	return false;
}

const char *restart_cut(void)
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
		why = join_groups();
	if (!why)
		why = recreate_binds();
	if (!why)
		why = numbers_meet(restart.folder, "verbs-connected", &everybody);
	if (!why)
		why = read_again();
	if (!why)
		why = give_values();
	if (!why)
		why = fill_queues();
	if (!why && restart_post_kept(false))
		why = "a receive of it cannot be posted again";
	if (!why)
		why = arm_limits();
	if (!why)
		why = bring_events();
	if (!why)
		why = restart_save();
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

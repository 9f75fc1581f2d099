/* At the cut: makes the objects again, exchanges the ranks' new addresses and brings back requests, completions and
 * events that were under way. */
#include "synthetic_completions.h"
#include "restart.h"

static bool goes_everywhere(const struct ibv_gid_entry *e)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	return e->gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(e->gid.raw, mapped, sizeof(mapped)) &&
	       e->gid.raw[12] != 127;
}

/* The GID with this index; over Ethernet preferably one that all hosts can reach. */
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

/* Fills numbers.h's tables with this rank's earlier and current LIDs and GIDs. */
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
			return "the restart plan names a completion queue that does not exist";
		for (unsigned k = 0; k < one->queued.count; k++) {
			struct ibv_wc *wc = (struct ibv_wc *)&one->queued.completed[k].wc;
			struct ibv_ah_attr anywhere = {0};
			wc->qp_num = number_lower(NUMBER_QP, wc->qp_num);
			number_peer(&wc->src_qp, &anywhere);
		}
		int rc = provider->restore_cq ? provider->restore_cq(cq->handle, &one->queued)
					      : synthetic_queue(cq, &one->queued);
		if (rc)
			return "the completions that were in one of its completion queues cannot be put there again";
	}
	return NULL;
}

/* Drops events caused by making the objects again, then queues those of the plan. */
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
			return "the restart plan names an asynchronous event of an object that does not exist";
		if (provider->restore_event ? provider->restore_event(context->handle, (int)one->type, of->handle)
					    : synthetic_add_async(context, (int)one->type, of))
			return "one of its asynchronous events cannot be brought back";
	}
	return NULL;
}

static const char *join_groups(void)
{
	for (unsigned i = 0; i < restart.ngroups; i++) {
		const struct restart_group *one = &restart.groups[i];
		const struct object *qp = object_find(one->qp, QP);
		if (qp && provider->attach_mcast(qp->handle, &one->gid, one->lid))
			return "one of its queue pairs cannot join its multicast group again";
	}
	return NULL;
}

static const char *arm_limits(void)
{
	for (unsigned i = 0; i < restart.plan.nlimits; i++) {
		const struct object *srq = object_find(restart.plan.limits[i].object, SRQ);
		struct ibv_srq_attr attr = {.srq_limit = restart.plan.limits[i].limit};
		if (!srq || provider->modify_srq(srq->handle, &attr, IBV_SRQ_LIMIT))
			return "the limit of one of its shared receive queues cannot be set again";
	}
	return NULL;
}

/* ---- READs and atomics that the target had carried out, and whose answer had not arrived.  Later requests may have
 * been carried out as well, so these are not posted in order with the others. ---- */

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
			return "the result of one of its atomic operations cannot be brought back";
	}
	return NULL;
}

static unsigned reads_left;
static const char *reads_wrong;

/* Also serves the READs of other ranks. */
static void progress(void)
{
	struct ibv_wc wc;
	uint32_t next = 0;
	provider->progress();
	for (struct object *o; (o = object_next(&next));)
		while (o->kind == CQ && provider->poll_cq(o->handle, 1, &wc) == 1) {
			reads_left--;
			if (wc.status)
				reads_wrong = "one of its RDMA READs succeeded in the recording and fails now";
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
			return "one of its RDMA READs cannot be posted again";
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

/* Lets other ranks connect to this one, which they need to bind their windows. */
static void serve(void)
{
	provider->progress();
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
		return object_next(&next) ? "it uses verbs, and there is no HCA on this host" : NULL;
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
	struct numbers_meeting everybody = {
		.rank = host->rank, .ranks = plan->ranks, .nranks = plan->nranks, .meanwhile = serve};
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
		why = "one of its receives cannot be posted again";
	if (!why)
		why = arm_limits();
	if (!why)
		why = bring_events();
	if (!why)
		why = restart_save();
	everybody.meanwhile = NULL; /* ranks that go on send already, and `host` is not ready for what arrives */
	/* a rank sends when it goes on; before, all ranks must be able to receive */
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

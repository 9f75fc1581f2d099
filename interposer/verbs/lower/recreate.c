/* Makes the program's objects again at the cut, under the ids and numbers that it knows. */
#include <stdio.h>
#include <time.h>
#include "../qp_attr.h"
#include "numbers.h"
#include "plugin.h"
#include "synthetic_completions.h"

enum { NOBODYS = 1 }; /* a number that no connected queue pair has */

static char text[256];

static const char *refuse(const struct object *o, const char *what, int rc)
{
	static const char *const names[] = {
		[CONTEXT] = "device",
		[PD] = "protection domain",
		[MR] = "memory region",
		[MW] = "memory window",
		[CHANNEL] = "completion channel",
		[CQ] = "completion queue",
		[SRQ] = "shared receive queue",
		[QP] = "queue pair",
		[AH] = "address handle",
	};
	if (o->kind == QP)
		snprintf(text, sizeof(text), "its queue pair %#x %s%s%s", o->made.qp.number, what, rc ? ": " : "",
			 rc ? strerror(-rc) : "");
	else
		snprintf(text, sizeof(text), "one of its %ss %s%s%s", names[o->kind], what, rc ? ": " : "",
			 rc ? strerror(-rc) : "");
	return text;
}

void qp_modified(struct object *qp, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_qp_attr *k = &qp->made.qp.is;
	if ((mask & IBV_QP_STATE) && a->qp_state == IBV_QPS_RESET) {
		memset(k, 0, sizeof(*k));
		memset(qp->made.qp.masks, 0, sizeof(qp->made.qp.masks));
		return;
	}
	if (mask & IBV_QP_STATE) {
		if (a->qp_state <= IBV_QPS_RTS && a->qp_state > k->qp_state)
			qp->made.qp.masks[a->qp_state] = mask & ~IBV_QP_CUR_STATE;
		k->qp_state = a->qp_state;
	}
	qp_attr_keep(k, a, mask);
}

int qp_peer(struct ibv_qp_attr *attr)
{
	return number_peer(&attr->dest_qp_num, &attr->ah_attr);
}

static void *handle_of(const struct object *o)
{
	return o ? o->handle : NULL;
}

static int open_again(struct object *o)
{
	struct verbs_device list[64];
	int n = provider->devices(list, 64), fd = -1, vectors = 0;
	unsigned device = (int)o->made.context.device < n ? o->made.context.device : 0;
	int rc = provider->open(device, &o->handle, &fd, &vectors);
	if (!rc && !provider->restore_event) {
		fd = synthetic_channel(o, fd);
		rc = fd < 0 ? fd : 0;
	}
	if (!rc)
		host->descriptor(o->id, -1, fd);
	return rc;
}

static int region_again(struct object *o)
{
	uint32_t lkey = 0, rkey = 0;
	int rc = provider->reg_mr(o->parents[0]->handle, (void *)o->made.mr.addr, o->made.mr.length, o->made.mr.iova,
				  o->made.mr.access, &o->handle, &lkey, &rkey);
	number_bind(NUMBER_LKEY, o->made.mr.lkey, lkey);
	number_bind(NUMBER_RKEY, o->made.mr.rkey, rkey);
	return rc;
}

static int window_again(struct object *o)
{
	uint32_t rkey = 0;
	int rc = provider->alloc_mw(o->parents[0]->handle, o->made.mw.type, &o->handle, &rkey);
	if (o->made.mw.bound) /* its key after the bind, as ibv_inc_rkey(3); bind_again() checks it */
		rkey = (rkey & ~0xffu) | (uint8_t)(rkey + 1);
	number_bind(NUMBER_WINDOW, o->made.mw.rkey, rkey);
	return rc;
}

static int pair_again(struct object *o)
{
	struct ibv_qp_init_attr attr = o->made.qp.init;
	const struct verbs_qp_links links = {.pd = handle_of(o->parents[0]),
					     .send_cq = handle_of(o->parents[1]),
					     .recv_cq = handle_of(o->parents[2]),
					     .srq = handle_of(o->parents[3])};
	uint32_t number = 0;
	int rc = provider->create_qp(&links, &attr, &o->handle, &number);
	number_bind(NUMBER_QP, o->made.qp.number, number);
	return rc;
}

static int again(struct object *o)
{
	int fd = -1, rc;
	switch (o->kind) {
	case CONTEXT: return open_again(o);
	case PD: return provider->alloc_pd(o->parents[0]->handle, &o->handle);
	case MR: return region_again(o);
	case MW: return window_again(o);
	case CHANNEL:
		rc = provider->create_channel(o->parents[0]->handle, &o->handle, &fd);
		if (!rc && !provider->restore_cq)
			rc = fd = synthetic_channel(o, fd);
		if (rc < 0)
			return rc;
		host->descriptor(o->id, -1, fd);
		return 0;
	case CQ: {
		int entries = o->made.cq.entries;
		return provider->create_cq(o->parents[0]->handle, &entries, handle_of(o->parents[1]), o->made.cq.vector,
					   &o->handle);
	}
	case SRQ: {
		struct ibv_srq_init_attr attr = o->made.srq;
		return provider->create_srq(o->parents[0]->handle, &attr, &o->handle);
	}
	case QP: return pair_again(o);
	default: return 0; /* address handles: recreate_connections(), when the other ranks' addresses are known */
	}
}

const char *recreate_objects(void)
{
	/* objects after those they are made from; ids need not be in this order */
	static const enum kind order[] = {CONTEXT, PD, CHANNEL, CQ, MR, SRQ, MW, QP};
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++) {
		uint32_t next = 0;
		for (struct object *o; (o = object_next(&next));) {
			if (o->kind != order[i])
				continue;
			int rc = again(o);
			if (rc)
				return refuse(o, "cannot be made again", rc);
		}
	}
	return NULL;
}

static int step(const struct object *qp, const struct ibv_qp_attr *as, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = *as;
	attr.qp_state = to;
	return provider->modify_qp(qp->handle, &attr, mask | IBV_QP_STATE);
}

/* The port's MTU may be smaller than in the recording. */
static void fit(const struct object *qp, struct ibv_qp_attr *attr)
{
	const struct object *context = qp->parents[0]->parents[0];
	struct ibv_port_attr port = {0};
	const uint8_t number = attr->port_num ? attr->port_num : 1;
	if (!provider->query_port(context->handle, number, &port) && port.active_mtu &&
	    attr->path_mtu > port.active_mtu)
		attr->path_mtu = port.active_mtu;
}

static const char *connect_again(struct object *qp)
{
	struct ibv_qp_attr as = qp->made.qp.is;
	fit(qp, &as);
	const int *masks = qp->made.qp.masks;
	const enum ibv_qp_state to = as.qp_state;
	int rc = to == IBV_QPS_RESET ? 0 : step(qp, &as, IBV_QPS_INIT, masks[IBV_QPS_INIT]);
	if (masks[IBV_QPS_RTR] && !rc) {
		if (qp->made.qp.init.qp_type != IBV_QPT_UD) {
			qp->made.qp.rank = qp_peer(&as);
			if (qp->made.qp.rank == NUMBERS_NO_RANK) { /* the peer's queue pair is gone */
				as.dest_qp_num = NOBODYS;
				number_address(&as.ah_attr);
			}
		}
		rc = step(qp, &as, IBV_QPS_RTR, masks[IBV_QPS_RTR]);
	}
	if (masks[IBV_QPS_RTS] && !rc)
		rc = step(qp, &as, IBV_QPS_RTS, masks[IBV_QPS_RTS]);
	if (to > IBV_QPS_RTS && !rc)
		rc = step(qp, &as, to, 0);
	return rc ? refuse(qp, "cannot be brought to its state", rc) : NULL;
}

const char *recreate_connections(void)
{
	uint32_t next = 0;
	for (struct object *o; (o = object_next(&next));) {
		const char *why = o->kind == QP ? connect_again(o) : NULL;
		if (why)
			return why;
		if (o->kind != AH)
			continue;
		/* handles for the peer's current address are made when a datagram is sent */
		struct ibv_ah_attr attr = o->made.ah.attr;
		number_address(&attr);
		if (provider->create_ah(o->parents[0]->handle, &attr, &o->handle))
			o->handle = NULL;
	}
	return NULL;
}

/* ---- windows ---- */

static struct {
	uint32_t number, requests;
} bound_by[64];
static unsigned nbound_by;

uint32_t recreated_requests(uint32_t number)
{
	for (unsigned i = 0; i < nbound_by; i++)
		if (bound_by[i].number == number)
			return bound_by[i].requests;
	return 0;
}

void recreated_forget(uint32_t number)
{
	for (unsigned i = 0; i < nbound_by; i++)
		if (bound_by[i].number == number)
			bound_by[i--] = bound_by[--nbound_by];
}

static bool one_more_request(uint32_t number)
{
	unsigned i = 0;
	while (i < nbound_by && bound_by[i].number != number)
		i++;
	if (i == sizeof(bound_by) / sizeof(*bound_by))
		return false;
	nbound_by = i == nbound_by ? i + 1 : nbound_by;
	bound_by[i].number = number;
	bound_by[i].requests++;
	return true;
}

static bool can_bind(const struct object *qp, const struct object *window)
{
	return qp && qp->kind == QP && qp->parents[0] == window->parents[0] && qp->parents[1] &&
	       qp->made.qp.is.qp_state == IBV_QPS_RTS && qp->made.qp.init.qp_type != IBV_QPT_UD;
}

/* A queue pair to bind with: the one that did it before, or any other of the protection domain. */
static const struct object *binder(const struct object *window)
{
	uint32_t next = 0;
	const struct object *qp = object_find(window->made.mw.qp, QP);
	if (can_bind(qp, window))
		return qp;
	while ((qp = object_next(&next)))
		if (can_bind(qp, window))
			return qp;
	return NULL;
}

static bool succeeds(const struct object *cq)
{
	enum { TURNS = 5000 };
	const struct timespec pause = {.tv_nsec = 1000000};
	struct ibv_wc wc;
	for (int i = 0; i < TURNS; i++) {
		provider->progress();
		int n = provider->poll_cq(cq->handle, 1, &wc);
		if (n)
			return n == 1 && !wc.status;
		nanosleep(&pause, NULL);
	}
	return false;
}

static const char *bind_again(const struct object *window)
{
	const struct object *qp = binder(window), *region = object_find(window->made.mw.mr, MR);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED, .bind_info = window->made.mw.to};
	uint32_t rkey = 0;
	if (!qp || !region || !one_more_request(number_lower(NUMBER_QP, qp->made.qp.number)))
		return refuse(window, "is bound, and there is no queue pair to bind it again", 0);
	int rc = provider->bind_mw(qp->handle, window->handle, region->handle, &bind, &rkey);
	if (!rc && !succeeds(qp->parents[1]))
		rc = -EIO;
	if (!rc && rkey != number_lower(NUMBER_RKEY, window->made.mw.rkey))
		rc = -ENOTSUP;
	return rc ? refuse(window, "cannot be bound again", rc) : NULL;
}

const char *recreate_binds(void)
{
	uint32_t next = 0;
	for (const struct object *o; (o = object_next(&next));) {
		const char *why = o->kind == MW && o->made.mw.bound ? bind_again(o) : NULL;
		if (why)
			return why;
	}
	return NULL;
}

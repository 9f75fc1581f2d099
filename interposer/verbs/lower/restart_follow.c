/* On the way to a cut: the tables of objects follow the recorded calls. */
#include "restart.h"

static void seen_gid(const uint64_t *a)
{
	const struct ibv_gid_entry *entry = (const void *)a[3];
	if (restart.ngids == NUMBERS_GIDS)
		return;
	for (unsigned i = 0; i < restart.ngids; i++)
		if (restart.gids[i].index == (unsigned)a[2] &&
		    !memcmp(&restart.gids[i].gid, &entry->gid, sizeof(entry->gid)))
			return;
	restart.gids[restart.ngids].index = (unsigned)a[2];
	restart.gids[restart.ngids++].gid = entry->gid;
}

static void seen_lid(uint16_t lid)
{
	for (unsigned i = 0; i < restart.nlids; i++)
		if (restart.lids[i] == lid)
			return;
	if (restart.nlids < NUMBERS_LIDS)
		restart.lids[restart.nlids++] = lid;
}

static int64_t made(enum kind kind, struct object *parent, struct object *o)
{
	o->kind = kind;
	o->parents[0] = parent;
	return object_made(0, o);
}

static struct restart_group *group_of(const uint64_t *a)
{
	for (unsigned i = 0; i < restart.ngroups; i++)
		if (restart.groups[i].qp == a[0] &&
		    !memcmp(&restart.groups[i].gid, (const void *)a[1], sizeof(union ibv_gid)))
			return &restart.groups[i];
	return NULL;
}

static void left(const uint64_t *a)
{
	struct restart_group *one = group_of(a);
	if (one)
		*one = restart.groups[--restart.ngroups];
}

static const char *joined(const uint64_t *a)
{
	if (group_of(a))
		return NULL;
	if (restart.ngroups == RESTART_GROUPS)
		return "its queue pairs are in too many multicast groups";
	struct restart_group *one = &restart.groups[restart.ngroups++];
	*one = (struct restart_group){.qp = (uint32_t)a[0], .lid = (uint16_t)a[2]};
	memcpy(&one->gid, (const void *)a[1], sizeof(one->gid));
	return NULL;
}

/* The log's answer is not applied yet: memory is as the program left it before the call. */
const char *restart_asked(unsigned call, const uint64_t *a, int64_t result)
{
	struct object o = {0};
	int64_t rc = result;
	switch (call) {
	case VERBS_POST_SEND: restart_posted(true, a, result); return NULL;
	case VERBS_POST_RECV:
	case VERBS_POST_SRQ_RECV: restart_posted(false, a, result); return NULL;
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
	case VERBS_ATTACH_MCAST: return joined(a);
	case VERBS_DETACH_MCAST: left(a); break;
	default: break; /* queries */
	}
	return rc == result ? NULL : "one of its verbs calls cannot be repeated";
}

/* The log's answer has been applied: the numbers that the program was given are in its memory. */
void restart_answered(unsigned call, const uint64_t *a, int64_t result)
{
	struct object *o;
	if (result < 0)
		return;
	switch (call) {
	case VERBS_OPEN:
		o = object_find((uint64_t)result, CONTEXT);
		o->made.context.shown_fd = ((const struct verbs_opened *)a[2])->async_fd;
		host->descriptor(o->id, o->made.context.shown_fd, -1);
		o->made.context.shown_fd = -1 - o->made.context.shown_fd; /* negative: must not be closed yet */
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
	case VERBS_BIND_MW: object_find(a[1], MW)->made.mw.rkey = *(const uint32_t *)a[4]; break;
	case VERBS_CREATE_QP: object_find((uint64_t)result, QP)->made.qp.number = *(const uint32_t *)a[7]; break;
	case VERBS_QUERY_GID: seen_gid(a); break;
	case VERBS_QUERY_PORT: seen_lid(((const struct ibv_port_attr *)a[2])->lid); break;
	default: break;
	}
}

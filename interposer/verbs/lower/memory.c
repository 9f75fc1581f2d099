/* Protection domains and the objects made from them alone: regions, windows, address handles. */
#include "numbers.h"
#include "plugin.h"
#include "completion_buffers.h"

int64_t verbs_alloc_pd(const uint64_t *a)
{
	FIND(context, a[0], CONTEXT);
	struct object made = {.kind = PD, .parents = {context}};
	return object_made(provider->alloc_pd(context->handle, &made.handle), &made);
}

int64_t verbs_dealloc_pd(const uint64_t *a)
{
	return object_destroy(a[0], PD, provider->dealloc_pd);
}

/* Registers a region with keys that, after a restart, the program does not know as those of another region. */
static int register_free(const struct object *pd, const uint64_t *a, void **handle, struct verbs_keys *keys)
{
	void *taken[16];
	unsigned ntaken = 0;
	int rc;
	while (!(rc = provider->reg_mr(pd->handle, (void *)a[1], a[2], a[3], (unsigned)a[4], handle, &keys->lkey,
				       &keys->rkey)) &&
	       numbers_rebound && ntaken < 16 &&
	       !(number_free(NUMBER_LKEY, keys->lkey) && number_free(NUMBER_RKEY, keys->rkey)))
		taken[ntaken++] = *handle;
	while (ntaken)
		provider->dereg_mr(taken[--ntaken]);
	return rc;
}

int64_t verbs_reg_mr(const uint64_t *a)
{
	FIND(pd, a[0], PD);
	struct object made = {.kind = MR, .parents = {pd}};
	struct verbs_keys keys = {0};
	int rc = register_free(pd, a, &made.handle, &keys);
	if (rc)
		return rc;
	if (a[1] != a[3] || a[4] & IBV_ACCESS_ZERO_BASED)
		completion_buffers_elsewhere();
	made.made.mr.addr = a[1];
	made.made.mr.length = a[2];
	made.made.mr.iova = a[3];
	made.made.mr.access = (unsigned)a[4];
	made.made.mr.lkey = keys.lkey;
	made.made.mr.rkey = keys.rkey;
	put(a[5], &keys, sizeof(keys));
	return object_made(0, &made);
}

int64_t verbs_rereg_mr(const uint64_t *a)
{
	FIND(mr, a[0], MR);
	int flags = (int)a[1];
	struct object *pd = object_find(a[2], PD);
	if ((flags & IBV_REREG_MR_CHANGE_PD) && !pd)
		return -EINVAL;
	struct verbs_keys keys = {lower_lkey(mr->made.mr.lkey), lower_own_rkey(mr->made.mr.rkey)};
	int rc = provider->rereg_mr(mr->handle, flags, pd ? pd->handle : NULL, (void *)a[3], a[4], (int)a[5],
				    &keys.lkey, &keys.rkey);
	if (rc)
		return rc;
	if (numbers_rebound)
		keys = (struct verbs_keys){number_shown(NUMBER_LKEY, keys.lkey), number_shown(NUMBER_RKEY, keys.rkey)};
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		mr->parents[0]->users--;
		mr->parents[0] = pd;
		pd->users++;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->made.mr.addr = mr->made.mr.iova = a[3];
		mr->made.mr.length = a[4];
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->made.mr.access = (unsigned)a[5];
	mr->made.mr.lkey = keys.lkey;
	mr->made.mr.rkey = keys.rkey;
	put(a[6], &keys, sizeof(keys));
	return 0;
}

int64_t verbs_dereg_mr(const uint64_t *a)
{
	FIND(mr, a[0], MR);
	const struct verbs_keys keys = {mr->made.mr.lkey, mr->made.mr.rkey};
	int64_t rc = object_destroy(a[0], MR, provider->dereg_mr);
	if (!rc && numbers_rebound) {
		number_forget(NUMBER_LKEY, keys.lkey);
		number_forget(NUMBER_RKEY, keys.rkey);
	}
	return rc;
}

int64_t verbs_advise_mr(const uint64_t *a)
{
	struct ibv_sge list[64];
	FIND(pd, a[0], PD);
	if (!provider->advise_mr)
		return -EOPNOTSUPP;
	if (a[4] > sizeof(list) / sizeof(*list))
		return -ENOMEM;
	const struct ibv_sge *upper = (const struct ibv_sge *)a[3];
	for (unsigned i = 0; i < a[4]; i++) {
		list[i] = upper[i];
		list[i].lkey = lower_lkey(upper[i].lkey);
	}
	return provider->advise_mr(pd->handle, (int)a[1], (uint32_t)a[2], list, (unsigned)a[4]);
}

/* Allocates a window with a key that, after a restart, the program does not know as another's. */
static int window_free(const struct object *pd, int type, void **handle, uint32_t *rkey)
{
	void *taken[16];
	unsigned ntaken = 0;
	int rc;
	while (!(rc = provider->alloc_mw(pd->handle, type, handle, rkey)) && numbers_rebound && ntaken < 16 &&
	       !number_free(NUMBER_RKEY, *rkey))
		taken[ntaken++] = *handle;
	while (ntaken)
		provider->dealloc_mw(taken[--ntaken]);
	return rc;
}

int64_t verbs_alloc_mw(const uint64_t *a)
{
	FIND(pd, a[0], PD);
	struct object made = {.kind = MW, .parents = {pd}, .made.mw.type = (int)a[1]};
	int rc = window_free(pd, (int)a[1], &made.handle, &made.made.mw.rkey);
	if (!rc)
		put(a[2], &made.made.mw.rkey, sizeof(uint32_t));
	return object_made(rc, &made);
}

int64_t verbs_dealloc_mw(const uint64_t *a)
{
	FIND(mw, a[0], MW);
	const uint32_t rkey = mw->made.mw.rkey;
	int64_t rc = object_destroy(a[0], MW, provider->dealloc_mw);
	if (!rc && numbers_rebound)
		number_forget(NUMBER_WINDOW, rkey);
	return rc;
}

int64_t verbs_bind_mw(const uint64_t *a)
{
	FIND(qp, a[0], QP);
	FIND(mw, a[1], MW);
	struct object *mr = object_find(a[2], MR);
	if (a[2] && !mr)
		return -EINVAL;
	struct ibv_mw_bind bind = *(const struct ibv_mw_bind *)a[3];
	uint32_t rkey = mw->made.mw.rkey;
	bind.bind_info.mr = NULL;
	completion_buffers_lost(qp);
	int rc = provider->bind_mw(qp->handle, mw->handle, mr ? mr->handle : NULL, &bind, &rkey);
	if (rc)
		return rc;
	mw->made.mw.bound = bind.bind_info.length != 0;
	mw->made.mw.qp = (uint32_t)a[0];
	mw->made.mw.mr = (uint32_t)a[2];
	mw->made.mw.to = bind.bind_info;
	if (numbers_rebound)
		rkey = number_shown(NUMBER_RKEY, rkey);
	mw->made.mw.rkey = rkey;
	put(a[4], &rkey, sizeof(rkey));
	return 0;
}

int64_t verbs_create_ah(const uint64_t *a)
{
	FIND(pd, a[0], PD);
	struct object made = {.kind = AH, .parents = {pd}};
	made.made.ah.attr = *(const struct ibv_ah_attr *)a[1];
	struct ibv_ah_attr attr = made.made.ah.attr;
	if (numbers_rebound)
		number_address(&attr);
	return object_made(provider->create_ah(pd->handle, &attr, &made.handle), &made);
}

/* After a restart the handle for the address alone may be missing. */
static int destroy_ah(void *handle)
{
	return handle ? provider->destroy_ah(handle) : 0;
}

int64_t verbs_destroy_ah(const uint64_t *a)
{
	FIND(ah, a[0], AH);
	struct ah_now *now = ah->made.ah.now;
	int64_t rc = object_destroy(a[0], AH, destroy_ah);
	while (!rc && now) {
		struct ah_now *next = now->next;
		provider->destroy_ah(now->handle);
		free(now);
		now = next;
	}
	return rc;
}

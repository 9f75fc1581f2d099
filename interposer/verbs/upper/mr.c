/* Memory regions.  The program's own memory is registered, there are no copies. */
#include "upper.h"

struct region {
	struct ibv_mr mr;
	uint32_t *users; /* of the device memory that it is in; or NULL */
};

struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access, uint32_t *users)
{
	struct verbs_keys keys;
	struct region *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	struct ibv_mr *mr = &r->mr;
	int64_t id = ASK(VERBS_REG_MR, pd->handle, P(addr), length, iova, access, P(&keys));
	if (id < 0)
		return not_made(r, id);
	r->users = users;
	if (users)
		__atomic_add_fetch(users, 1, __ATOMIC_ACQ_REL);
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = (uint32_t)id;
	mr->lkey = keys.lkey;
	mr->rkey = keys.rkey;
	return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	return reg_mr(pd, addr, length, iova, access, NULL);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, P(addr), (unsigned)access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
					int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct verbs_keys keys;
	const int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	if ((flags & ~known) || !flags || ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!length || !addr)) ||
	    ((flags & IBV_REREG_MR_CHANGE_PD) && !pd)) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	int64_t r = ASK(VERBS_REREG_MR, mr->handle, (uint64_t)flags, pd ? pd->handle : 0, P(addr), length,
			(uint64_t)access, P(&keys));
	if (failed(r))
		return IBV_REREG_MR_ERR_CMD;
	mr->lkey = keys.lkey;
	mr->rkey = keys.rkey;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		mr->context = pd->context;
		mr->pd = pd;
	}
	return 0;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct region *r = CONTAINER(mr, struct region, mr);
	int err = error_of(ASK(VERBS_DEREG_MR, mr->handle));
	if (err)
		return err;
	if (r->users)
		__atomic_sub_fetch(r->users, 1, __ATOMIC_ACQ_REL);
	free(r);
	return 0;
}

int ops_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *list, uint32_t n)
{
	return error_of(ASK(VERBS_ADVISE_MR, pd->handle, advice, flags, P(list), n));
}

EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd, (void)handle;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

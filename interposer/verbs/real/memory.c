/* Protection domains, and what is made of nothing else: regions, windows, address handles. */
#include "real.h"

/* The object that such a function failed to make was never there: its errno is from this call. */
#define MADE(call, handle) (errno = 0, real_made(call, handle))

int real_alloc_pd(void *context, void **pd)
{
	return MADE(ibv_alloc_pd(context), pd);
}

int real_dealloc_pd(void *pd)
{
	return real_done(ibv_dealloc_pd(pd));
}

int real_reg_mr(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **handle, uint32_t *lkey,
		uint32_t *rkey)
{
	errno = 0;
	struct ibv_mr *mr = ibv_reg_mr_iova2(pd, addr, length, iova, access);
	int rc = real_made(mr, handle);
	if (!rc) {
		*lkey = mr->lkey;
		*rkey = mr->rkey;
	}
	return rc;
}

/* ibv_rereg_mr(3): 0 or one of its own error codes, after some of which the region is gone. */
int real_rereg_mr(void *handle, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey,
		  uint32_t *rkey)
{
	struct ibv_mr *mr = handle;
	errno = 0;
	if (ibv_rereg_mr(mr, flags, pd, addr, length, access))
		return errno ? -errno : -EINVAL;
	*lkey = mr->lkey;
	*rkey = mr->rkey;
	return 0;
}

int real_dereg_mr(void *mr)
{
	return real_done(ibv_dereg_mr(mr));
}

int real_alloc_mw(void *pd, int type, void **handle, uint32_t *rkey)
{
	errno = 0;
	struct ibv_mw *mw = ((struct ibv_pd *)pd)->context->ops.alloc_mw ? ibv_alloc_mw(pd, type) : NULL;
	if (!mw && !errno)
		return -EOPNOTSUPP;
	int rc = real_made(mw, handle);
	if (!rc)
		*rkey = mw->rkey;
	return rc;
}

int real_dealloc_mw(void *mw)
{
	return real_done(ibv_dealloc_mw(mw));
}

int real_bind_mw(void *qp, void *handle, void *mr, const struct ibv_mw_bind *asked, uint32_t *rkey)
{
	struct ibv_mw *mw = handle;
	struct ibv_mw_bind bind = *asked;
	bind.bind_info.mr = mr;
	int rc = real_done(ibv_bind_mw(qp, mw, &bind));
	if (!rc)
		*rkey = mw->rkey;
	return rc;
}

int real_create_ah(void *pd, struct ibv_ah_attr *attr, void **ah)
{
	return MADE(ibv_create_ah(pd, attr), ah);
}

int real_destroy_ah(void *ah)
{
	return real_done(ibv_destroy_ah(ah));
}

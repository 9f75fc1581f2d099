/* Protection domains and the objects made from them alone: regions, windows, address handles. */
#include <stdlib.h>
#include "real.h"

struct region {
	struct ibv_mr *mr;
	unsigned access;
};

/* Some functions of libibverbs fail without setting errno; so it is cleared before the call. */
#define MADE(call, handle) (errno = 0, real_made(call, handle))

int real_alloc_pd(void *context, void **pd)
{
	return MADE(ibv_alloc_pd(context), pd);
}

int real_dealloc_pd(void *pd)
{
	return real_done(ibv_dealloc_pd(pd));
}

struct ibv_mr *real_mr(void *handle)
{
	return handle ? ((struct region *)handle)->mr : NULL;
}

static bool remote(const struct region *r)
{
	return r->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

/* Without local write access nobody can write to the region, not even through a window. */
static void say(const struct region *r, bool begin)
{
	if (real_above->device_memory && r->access & IBV_ACCESS_LOCAL_WRITE)
		real_above->device_memory(r->mr->addr, r->mr->length, remote(r), begin);
}

int real_reg_mr(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **handle, uint32_t *lkey,
		uint32_t *rkey)
{
	struct region *r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	errno = 0;
	*r = (struct region){.mr = ibv_reg_mr_iova2(pd, addr, length, iova, access), .access = access};
	if (!r->mr) {
		int rc = errno ? -errno : -EIO;
		free(r);
		return rc;
	}
	*handle = r;
	*lkey = r->mr->lkey;
	*rkey = r->mr->rkey;
	say(r, true);
	return 0;
}

/* ibv_rereg_mr(3): 0 or one of its own error codes, after some of which the region is gone. */
int real_rereg_mr(void *handle, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey,
		  uint32_t *rkey)
{
	struct region *r = handle;
	errno = 0;
	say(r, false);
	int failed = ibv_rereg_mr(r->mr, flags, pd, addr, length, access);
	if (!failed && flags & IBV_REREG_MR_CHANGE_ACCESS)
		r->access = (unsigned)access;
	say(r, true);
	if (failed)
		return errno ? -errno : -EINVAL;
	*lkey = r->mr->lkey;
	*rkey = r->mr->rkey;
	return 0;
}

int real_dereg_mr(void *handle)
{
	struct region *r = handle, was = *r;
	struct ibv_mr mr = *r->mr;
	int rc = real_done(ibv_dereg_mr(r->mr));
	if (rc)
		return rc;
	was.mr = &mr;
	say(&was, false);
	free(r);
	return 0;
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
	bind.bind_info.mr = real_mr(mr);
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

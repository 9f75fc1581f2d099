/* The provider on the way to a cut: it does nothing, so that only the plug-in's tables follow the recorded calls. */
#include "plugin.h"

static int none(void *handle)
{
	return 0;
}

static int alloc_pd(void *context, void **pd)
{
	return 0;
}

static int reg_mr(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **mr, uint32_t *lkey,
		  uint32_t *rkey)
{
	return 0;
}

static int rereg_mr(void *mr, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey,
		    uint32_t *rkey)
{
	return 0;
}

static int alloc_mw(void *pd, int type, void **mw, uint32_t *rkey)
{
	return 0;
}

static int bind_mw(void *qp, void *mw, void *mr, const struct ibv_mw_bind *bind, uint32_t *rkey)
{
	return 0;
}

static int create_cq(void *context, int *cqe, void *channel, int vector, void **cq)
{
	return 0;
}

static int resize_cq(void *cq, int *cqe)
{
	return 0;
}

static int create_srq(void *pd, struct ibv_srq_init_attr *attr, void **srq)
{
	return 0;
}

static int modify_srq(void *srq, struct ibv_srq_attr *attr, int mask)
{
	return 0;
}

static int create_qp(const struct verbs_qp_links *links, struct ibv_qp_init_attr *attr, void **qp, uint32_t *qp_num)
{
	return 0;
}

static int modify_qp(void *qp, struct ibv_qp_attr *attr, int mask)
{
	return 0;
}

static int create_ah(void *pd, struct ibv_ah_attr *attr, void **ah)
{
	return 0;
}

static int progress(void)
{
	return 0;
}

const struct verbs_provider provider_shadow = {
	.name = "shadow",
	.close = none,
	.alloc_pd = alloc_pd,
	.dealloc_pd = none,
	.reg_mr = reg_mr,
	.rereg_mr = rereg_mr,
	.dereg_mr = none,
	.alloc_mw = alloc_mw,
	.dealloc_mw = none,
	.bind_mw = bind_mw,
	.destroy_channel = none,
	.create_cq = create_cq,
	.resize_cq = resize_cq,
	.destroy_cq = none,
	.create_srq = create_srq,
	.modify_srq = modify_srq,
	.destroy_srq = none,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.destroy_qp = none,
	.create_ah = create_ah,
	.destroy_ah = none,
	.progress = progress,
};

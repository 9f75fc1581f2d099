/* Memory windows. */
#include "upper.h"

struct ibv_mw *ops_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	int64_t id = ASK(VERBS_ALLOC_MW, pd->handle, type, P(&mw->rkey));
	if (id < 0)
		return not_made(mw, id);
	mw->context = pd->context;
	mw->pd = pd;
	mw->handle = (uint32_t)id;
	mw->type = type;
	return mw;
}

int ops_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mr *mr = bind->bind_info.mr;
	return error_of(ASK(VERBS_BIND_MW, qp->handle, mw->handle, mr ? mr->handle : 0, P(bind), P(&mw->rkey)));
}

int ops_dealloc_mw(struct ibv_mw *mw)
{
	int err = error_of(ASK(VERBS_DEALLOC_MW, mw->handle));
	if (!err)
		free(mw);
	return err;
}

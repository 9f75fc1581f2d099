/* Memory windows: type 1, bound by ibv_bind_mw, for any queue pair of the PD; type 2, bound by a posted request,
 * for the queue pair it was posted to. */
#include <errno.h>
#include <stdlib.h>
#include "conn.h"
#include "keys.h"
#include "qp.h"

int hca_alloc_mw(void *pd_handle, int type, void **out, uint32_t *rkey)
{
	struct hca_pd *pd = pd_handle;
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return -EINVAL;
	struct hca_mw *mw = calloc(1, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	*mw = (struct hca_mw){.pd = pd, .type = (enum ibv_mw_type)type};
	int rc = hca_key_new(HCA_KEY_MW, mw, &mw->key);
	if (rc) {
		free(mw);
		return rc;
	}
	pd->users++;
	*rkey = mw->key;
	*out = mw;
	return 0;
}

static void unbind(struct hca_mw *mw)
{
	if (!mw->mr)
		return;
	/* Payloads that are just arriving through the window are refused, as if the region had ended. */
	hca_conns_forget_mr(mw->mr);
	mw->mr->windows--;
	mw->mr = NULL;
	mw->qp = NULL;
}

int hca_dealloc_mw(void *handle)
{
	struct hca_mw *mw = handle;
	unbind(mw);
	hca_key_free(mw->key);
	mw->pd->users--;
	free(mw);
	return 0;
}

uint32_t hca_mw_next_key(struct hca_mw *mw)
{
	return (mw->key & ~0xffu) | (uint8_t)(mw->key + 1);
}

enum ibv_wc_status hca_mw_bind(struct hca_qp *qp, uint32_t rkey, uint32_t region, const struct ibv_mw_bind_info *info)
{
	struct hca_mw *mw = hca_key_any(rkey, HCA_KEY_MW);
	struct hca_mr *mr = hca_key_find(region, HCA_KEY_MR);
	if (!mw || mw->pd != qp->pd || (mw->type == IBV_MW_TYPE_2 && mw->mr))
		return IBV_WC_MW_BIND_ERR;
	if (info->length) {
		unsigned remote_write = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
		if (!mr || mr->pd != qp->pd || !(mr->access & IBV_ACCESS_MW_BIND) ||
		    ((info->mw_access_flags & remote_write) && !(mr->access & IBV_ACCESS_LOCAL_WRITE)) ||
		    info->addr < mr->iova || info->length > mr->length ||
		    info->addr - mr->iova > mr->length - info->length)
			return IBV_WC_MW_BIND_ERR;
	} else if (mw->type == IBV_MW_TYPE_2) {
		return IBV_WC_MW_BIND_ERR;
	}
	unbind(mw);
	hca_key_change(&mw->key, (uint8_t)rkey);
	if (info->length) {
		mw->mr = mr;
		mr->windows++;
		mw->qp = qp;
		mw->addr = info->addr;
		mw->length = info->length;
		mw->access = info->mw_access_flags;
	}
	return IBV_WC_SUCCESS;
}

bool hca_mw_invalidate(struct hca_qp *qp, uint32_t rkey)
{
	struct hca_mw *mw = hca_key_find(rkey, HCA_KEY_MW);
	if (!mw || mw->type != IBV_MW_TYPE_2 || mw->pd != qp->pd || (mw->mr && mw->qp != qp))
		return false;
	unbind(mw);
	return true;
}

static void forget_one(struct hca_mw *mw, void *qp)
{
	if (mw->type == IBV_MW_TYPE_2 && mw->qp == qp)
		unbind(mw);
}

/* Type 2 windows bound by this queue pair end with it. */
void hca_mw_forget_qp(struct hca_qp *qp)
{
	hca_key_each_mw(forget_one, qp);
}

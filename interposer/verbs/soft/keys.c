/* Finds the memory that a key gives access to. */
#include "keys.h"
#include "qp.h"

static bool within(uint64_t start, uint64_t length, uint64_t addr, uint64_t len)
{
	return addr >= start && len <= length && addr - start <= length - len;
}

static void in_region(const struct hca_mr *mr, uint64_t addr, uint64_t len, struct hca_span *span)
{
	*span = (struct hca_span){.addr = mr->addr + (addr - mr->iova), .len = len, .mr = mr};
}

bool hca_key_local(const struct hca_pd *pd, const struct ibv_sge *sge, bool write, struct hca_span *span)
{
	const struct hca_mr *mr = hca_key_find(sge->lkey, HCA_KEY_MR);
	if (!mr || mr->pd != pd || (write && !(mr->access & IBV_ACCESS_LOCAL_WRITE)) ||
	    !within(mr->iova, mr->length, sge->addr, sge->length))
		return false;
	in_region(mr, sge->addr, sge->length, span);
	return true;
}

static const struct hca_mr *through_window(const struct hca_qp *qp, uint32_t rkey, uint64_t *addr, uint64_t len,
					   unsigned access)
{
	const struct hca_mw *mw = hca_key_find(rkey, HCA_KEY_MW);
	if (!mw || !mw->mr || mw->pd != qp->pd || (mw->type == IBV_MW_TYPE_2 && mw->qp != qp) ||
	    (mw->access & access) != access)
		return NULL;
	if (mw->access & IBV_ACCESS_ZERO_BASED)
		*addr += mw->addr;
	return within(mw->addr, mw->length, *addr, len) ? mw->mr : NULL;
}

bool hca_key_remote(const struct hca_qp *qp, uint32_t rkey, uint64_t addr, uint64_t len, unsigned access,
		    struct hca_span *span)
{
	*span = (struct hca_span){0};
	if (!(qp->attr.qp_access_flags & access))
		return false;
	if (!len)
		return true;
	const struct hca_mr *mr = hca_key_find(rkey, HCA_KEY_MR);
	if (mr) {
		if ((mr->access & access) != access)
			return false;
	} else {
		mr = through_window(qp, rkey, &addr, len, access);
	}
	if (!mr || mr->pd != qp->pd || !within(mr->iova, mr->length, addr, len))
		return false;
	in_region(mr, addr, len, span);
	return true;
}

uint64_t hca_sge_bytes(const struct ibv_sge *sge, unsigned n)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < n; i++)
		bytes += sge[i].length;
	return bytes;
}

bool hca_gather(const struct hca_pd *pd, const struct ibv_sge *sge, unsigned n, uint64_t offset, uint64_t len,
		bool write, struct hca_span *spans, unsigned *nspans)
{
	*nspans = 0;
	for (unsigned i = 0; i < n && len; i++) {
		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		struct hca_span *s = &spans[*nspans];
		if (!hca_key_local(pd, &sge[i], write, s))
			return false;
		s->addr += offset;
		s->len -= offset;
		if (s->len > len)
			s->len = len;
		len -= s->len;
		offset = 0;
		(*nspans)++;
	}
	return len == 0;
}

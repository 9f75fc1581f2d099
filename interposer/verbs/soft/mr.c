/* Protection domains and memory regions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "conn.h"
#include "device.h"
#include "keys.h"

int hca_alloc_pd(void *context, void **out)
{
	struct hca_pd *pd = calloc(1, sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	pd->context = context;
	pd->context->users++;
	*out = pd;
	return 0;
}

int hca_dealloc_pd(void *handle)
{
	struct hca_pd *pd = handle;
	if (pd->users)
		return -EBUSY;
	pd->context->users--;
	free(pd);
	return 0;
}

/* Registered memory must be mapped and readable, and writable if the access flags say so. */
static int mapped(const void *addr, size_t length, bool write)
{
	uint64_t from = (uint64_t)addr, end = from + length, low, high;
	char line[512], mode[5];
	FILE *f = fopen("/proc/self/maps", "re");
	if (!f)
		return -errno;
	while (from < end && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %4s", &low, &high, mode) != 3 || high <= from)
			continue;
		if (low > from || mode[0] != 'r' || (write && mode[1] != 'w'))
			break;
		from = high;
	}
	fclose(f);
	return from >= end ? 0 : -EFAULT;
}

static int check(const void *addr, size_t length, unsigned access)
{
	unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
			 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE;
	const bool on_demand = access & IBV_ACCESS_ON_DEMAND;
	if (access & ~known)
		return -EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (on_demand && !addr && length == SIZE_MAX)
		return 0; /* implicit: the whole address space */
	if (length > (size_t)1 << 47 || (uint64_t)addr > (uint64_t)1 << 47)
		return -EINVAL;
	/* each request finds out what is mapped then */
	return on_demand ? 0 : mapped(addr, length, access & IBV_ACCESS_LOCAL_WRITE);
}

int hca_reg_mr(void *pd_handle, void *addr, size_t length, uint64_t iova, unsigned access, void **out, uint32_t *lkey,
	       uint32_t *rkey)
{
	struct hca_pd *pd = pd_handle;
	int rc = check(addr, length, access);
	if (rc)
		return rc;
	struct hca_mr *mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	*mr = (struct hca_mr){.pd = pd, .addr = addr, .length = length, .iova = iova, .access = access};
	if (access & IBV_ACCESS_ZERO_BASED)
		mr->iova = 0;
	if (mr->iova + length < mr->iova)
		rc = -EINVAL;
	else
		rc = hca_key_new(HCA_KEY_MR, mr, &mr->key);
	if (rc) {
		free(mr);
		return rc;
	}
	pd->users++;
	*lkey = *rkey = mr->key;
	*out = mr;
	return 0;
}

int hca_rereg_mr(void *handle, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey,
		 uint32_t *rkey)
{
	struct hca_mr *mr = handle, to = *mr;
	if (!flags ||
	    (flags & ~(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)))
		return -EINVAL;
	if (mr->windows)
		return -EBUSY;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		to.addr = addr;
		to.length = length;
		to.iova = (uint64_t)addr;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		to.access = (unsigned)access;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		to.pd = pd;
	if (to.access & IBV_ACCESS_ZERO_BASED)
		to.iova = 0;
	int rc = check(to.addr, to.length, to.access);
	if (rc)
		return rc;
	hca_conns_forget_mr(mr);
	mr->pd->users--;
	*mr = to;
	mr->pd->users++;
	*lkey = *rkey = mr->key;
	return 0;
}

int hca_dereg_mr(void *handle)
{
	struct hca_mr *mr = handle;
	if (mr->windows)
		return -EBUSY;
	hca_conns_forget_mr(mr);
	hca_key_free(mr->key);
	mr->pd->users--;
	free(mr);
	return 0;
}

/* The HCA uses the process's own page tables, so there is nothing to fetch; what cannot be fetched is said. */
static int check_advice(const struct hca_pd *pd, bool write, bool flush, const struct ibv_sge *sge)
{
	const struct hca_mr *mr = hca_key_find(sge->lkey, HCA_KEY_MR);
	struct hca_span span;
	if (!mr || !(mr->access & IBV_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (mr->pd != pd || (write && !(mr->access & IBV_ACCESS_LOCAL_WRITE)))
		return -EPERM;
	if (!hca_key_local(pd, sge, write, &span))
		return -EFAULT;
	return flush ? mapped(span.addr, span.len, write) : 0;
}

int hca_advise_mr(void *pd, int advice, uint32_t flags, const struct ibv_sge *list, unsigned n)
{
	const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	if (advice < IBV_ADVISE_MR_ADVICE_PREFETCH || advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -ENOTSUP;
	if (!n || flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		const int rc = check_advice(pd, write, flags & IBV_ADVISE_MR_FLAG_FLUSH, &list[i]);
		if (rc)
			return rc;
	}
	return 0;
}

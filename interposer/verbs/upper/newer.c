/* Functions that rdma-core has added since the version that rdb is built with.  They have other names in C, because
 * newer headers declare them as well. */
#include "upper.h"

/* struct ibv_mr_init_attr */
struct mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
};

enum { MASK_IOVA = 1, MASK_ADDR = 2 }; /* not supported: 4 and 8, a dma-buf; 16, a DMA handle */

EXPORT struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, struct mr_init_attr *attr) __asm__("ibv_reg_mr_ex");
EXPORT struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, struct mr_init_attr *attr)
{
	if (attr->comp_mask & ~(uint64_t)(MASK_IOVA | MASK_ADDR)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & MASK_ADDR)) {
		errno = EINVAL;
		return NULL;
	}
	return ibv_reg_mr_iova2(pd, attr->addr, attr->length, attr->comp_mask & MASK_IOVA ? attr->iova : P(attr->addr),
				(unsigned)attr->access);
}

/* DMA handles (hints for a device's writes to memory): answered as by a device without them. */
EXPORT void *alloc_dmah(struct ibv_context *context, void *attr) __asm__("ibv_alloc_dmah");
EXPORT void *alloc_dmah(struct ibv_context *context, void *attr)
{
	(void)context, (void)attr;
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT int dealloc_dmah(void *dmah) __asm__("ibv_dealloc_dmah");
EXPORT int dealloc_dmah(void *dmah)
{
	(void)dmah;
	return EOPNOTSUPP;
}

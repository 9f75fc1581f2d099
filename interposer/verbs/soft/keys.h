/* Protection domains, memory regions and windows, and access checks. */
#pragma once
#include "hca.h"

struct hca_context;
struct hca_qp;

struct hca_pd {
	struct hca_context *context;
	unsigned users;
};

struct hca_mr {
	struct hca_pd *pd;
	uint8_t *addr;
	size_t length;
	uint64_t iova; /* address of `addr` in requests */
	unsigned access;
	uint32_t key;     /* lkey and rkey */
	unsigned windows; /* bound to it */
};

struct hca_mw {
	struct hca_pd *pd;
	enum ibv_mw_type type;
	uint32_t key;
	struct hca_mr *mr; /* NULL: not bound */
	struct hca_qp *qp; /* type 2: queue pair that bound it */
	uint64_t addr, length;
	unsigned access;
};

int hca_alloc_pd(void *context, void **pd);
int hca_dealloc_pd(void *pd);
int hca_reg_mr(void *pd, void *addr, size_t length, uint64_t iova, unsigned access, void **mr, uint32_t *lkey,
	       uint32_t *rkey);
int hca_rereg_mr(void *mr, int flags, void *pd, void *addr, size_t length, int access, uint32_t *lkey, uint32_t *rkey);
int hca_dereg_mr(void *mr);
int hca_advise_mr(void *pd, int advice, uint32_t flags, const struct ibv_sge *list, unsigned n);

/* mw.c */
int hca_alloc_mw(void *pd, int type, void **mw, uint32_t *rkey);
int hca_dealloc_mw(void *mw);
/* Carries out a bind request of the send queue; returns the status of its completion. */
enum ibv_wc_status hca_mw_bind(struct hca_qp *qp, uint32_t rkey, uint32_t region, const struct ibv_mw_bind_info *info);
/* Invalidates the key of a type 2 window, for LOCAL_INV or SEND_WITH_INV.  False: not allowed. */
bool hca_mw_invalidate(struct hca_qp *qp, uint32_t rkey);
/* Key that a type 1 window will have after its next bind. */
uint32_t hca_mw_next_key(struct hca_mw *mw);
void hca_mw_forget_qp(struct hca_qp *qp);

/* Memory of a scatter/gather entry.  False: its key does not cover all of it for this PD. */
bool hca_key_local(const struct hca_pd *pd, const struct ibv_sge *sge, bool write, struct hca_span *span);
/* Memory that a peer's request names; `access`: IBV_ACCESS_REMOTE_*.  Keys of empty requests are not checked, as the
 * specification demands. */
bool hca_key_remote(const struct hca_qp *qp, uint32_t rkey, uint64_t addr, uint64_t len, unsigned access,
		    struct hca_span *span);

/* Memory of the part [offset, offset + len) of a scatter/gather list.  False: one of the keys is not valid. */
bool hca_gather(const struct hca_pd *pd, const struct ibv_sge *sge, unsigned n, uint64_t offset, uint64_t len,
		bool write, struct hca_span *spans, unsigned *nspans);
uint64_t hca_sge_bytes(const struct ibv_sge *sge, unsigned n);

/* Table of the keys of regions and windows. */
enum hca_key_kind { HCA_KEY_NONE, HCA_KEY_MR, HCA_KEY_MW };
int hca_key_new(enum hca_key_kind kind, void *object, uint32_t *key);
void hca_key_free(uint32_t key);
/* Changes the low byte of an object's key. */
void hca_key_change(uint32_t *key, uint8_t low);
void *hca_key_find(uint32_t key, enum hca_key_kind kind);
/* The same, whatever the low byte of its key is now. */
void *hca_key_any(uint32_t key, enum hca_key_kind kind);
void hca_key_each_mw(void (*visit)(struct hca_mw *mw, void *arg), void *arg);

/* Extended queue pairs (ibv_create_qp_ex(3), ibv_wr_post(3)): requests are built one by one and posted as a list when
 * the batch is complete. */
#include "upper.h"

struct batch {
	pthread_mutex_t lock; /* held from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() */
	int error;
	uint32_t max_sge, max_inline, max_wr;
	uint32_t n;
	struct request {
		struct ibv_send_wr wr;
		struct ibv_sge inlined; /* names the copy of inline data, in `bytes` */
	} * requests;
	struct ibv_sge *sges; /* max_sge for each request */
	char *bytes;          /* max_inline for each */
};

void batch_free(struct batch *b)
{
	if (!b)
		return;
	free(b->requests);
	free(b->sges);
	free(b->bytes);
	free(b);
}

static struct batch *batch_new(const struct ibv_qp_cap *cap)
{
	struct batch *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->max_wr = cap->max_send_wr ? cap->max_send_wr : 1;
	b->max_sge = cap->max_send_sge ? cap->max_send_sge : 1;
	b->max_inline = cap->max_inline_data ? cap->max_inline_data : 1;
	b->requests = calloc(b->max_wr, sizeof(*b->requests));
	b->sges = calloc((size_t)b->max_wr * b->max_sge, sizeof(*b->sges));
	b->bytes = calloc(b->max_wr, b->max_inline);
	if (!b->requests || !b->sges || !b->bytes) {
		batch_free(b);
		return NULL;
	}
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

static struct batch *batch_of(struct ibv_qp_ex *qp)
{
	return CONTAINER(qp, struct queue_pair, ex)->batch;
}

/* The request that is being built; NULL after an error. */
static struct ibv_send_wr *present(struct ibv_qp_ex *qp)
{
	struct batch *b = batch_of(qp);
	return b->error || !b->n ? NULL : &b->requests[b->n - 1].wr;
}

static struct ibv_send_wr *begin(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
	static struct ibv_send_wr nowhere;
	struct batch *b = batch_of(qp);
	if (!b->error && b->n == b->max_wr)
		b->error = ENOMEM;
	if (b->error)
		return &nowhere;
	struct ibv_send_wr *wr = &b->requests[b->n].wr;
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = qp->wr_id;
	wr->opcode = opcode;
	wr->send_flags = qp->wr_flags;
	wr->sg_list = &b->sges[(size_t)b->n++ * b->max_sge];
	return wr;
}

/* ---- operations ---- */

static void one_sided(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, __be32 imm)
{
	struct ibv_send_wr *wr = begin(qp, opcode);
	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = addr;
	wr->imm_data = imm;
}

static void rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	one_sided(qp, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	one_sided(qp, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	one_sided(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}

static void atomic(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr, uint64_t value,
		   uint64_t swap)
{
	struct ibv_send_wr *wr = begin(qp, opcode);
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = value;
	wr->wr.atomic.swap = swap;
}

static void atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap)
{
	atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void send_plain(struct ibv_qp_ex *qp)
{
	begin(qp, IBV_WR_SEND);
}

static void send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	begin(qp, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	begin(qp, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void bind_window(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = begin(qp, IBV_WR_BIND_MW);
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

/* ---- setters of the request that was begun last ---- */

static void set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct ibv_send_wr *wr = present(qp);
	if (!wr)
		return;
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = remote_qpn;
	wr->wr.ud.remote_qkey = remote_qkey;
}

static void set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *list)
{
	struct batch *b = batch_of(qp);
	struct ibv_send_wr *wr = present(qp);
	if (wr && n > b->max_sge)
		b->error = ENOMEM;
	else if (wr) {
		memcpy(wr->sg_list, list, n * sizeof(*list));
		wr->num_sge = (int)n;
	}
}

static void set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge one = {.addr = addr, .length = length, .lkey = lkey};
	set_sge_list(qp, 1, &one);
}

/* Copies the data now: the program may reuse its memory afterwards. */
static void set_inline_data_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *list)
{
	struct batch *b = batch_of(qp);
	struct ibv_send_wr *wr = present(qp);
	if (!wr)
		return;
	char *to = b->bytes + (size_t)(b->n - 1) * b->max_inline;
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		if (list[i].length > b->max_inline - total) {
			b->error = EINVAL;
			return;
		}
		memcpy(to + total, list[i].addr, list[i].length);
		total += list[i].length;
	}
	struct ibv_sge *sge = &b->requests[b->n - 1].inlined;
	*sge = (struct ibv_sge){.addr = P(to), .length = (uint32_t)total};
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
}

static void set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct ibv_data_buf one = {addr, length};
	set_inline_data_list(qp, 1, &one);
}

/* ---- the batch ---- */

static void batch_start(struct ibv_qp_ex *qp)
{
	struct batch *b = batch_of(qp);
	pthread_mutex_lock(&b->lock);
	b->n = 0;
	b->error = 0;
}

/* After an error in building, no request is posted.  If the device refuses one, those before it are posted. */
static int batch_complete(struct ibv_qp_ex *qp)
{
	struct batch *b = batch_of(qp);
	struct ibv_send_wr *bad;
	for (uint32_t i = 0; i + 1 < b->n; i++)
		b->requests[i].wr.next = &b->requests[i + 1].wr;
	int error = b->error;
	if (!error && b->n)
		error = ops_post_send(&qp->qp_base, &b->requests[0].wr, &bad);
	pthread_mutex_unlock(&b->lock);
	return error;
}

static void batch_abort(struct ibv_qp_ex *qp)
{
	pthread_mutex_unlock(&batch_of(qp)->lock);
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct queue_pair *q = CONTAINER(qp, struct queue_pair, qp);
	return q->batch ? &q->ex : NULL;
}

static void give_functions(struct ibv_qp_ex *qp)
{
	qp->wr_atomic_cmp_swp = atomic_cmp_swp;
	qp->wr_atomic_fetch_add = atomic_fetch_add;
	qp->wr_bind_mw = bind_window;
	qp->wr_local_inv = local_inv;
	qp->wr_rdma_read = rdma_read;
	qp->wr_rdma_write = rdma_write;
	qp->wr_rdma_write_imm = rdma_write_imm;
	qp->wr_send = send_plain;
	qp->wr_send_imm = send_imm;
	qp->wr_send_inv = send_inv;
	qp->wr_set_ud_addr = set_ud_addr;
	qp->wr_set_inline_data = set_inline_data;
	qp->wr_set_inline_data_list = set_inline_data_list;
	qp->wr_set_sge = set_sge;
	qp->wr_set_sge_list = set_sge_list;
	qp->wr_start = batch_start;
	qp->wr_complete = batch_complete;
	qp->wr_abort = batch_abort;
}

static uint64_t operations_of(enum ibv_qp_type type)
{
	const uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t writes = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t windows = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;
	switch (type) {
	case IBV_QPT_RC:
		return sends | writes | windows | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	case IBV_QPT_UC: return sends | writes | windows;
	case IBV_QPT_UD: return sends;
	default: return 0;
	}
}

struct ibv_qp *ops_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	const bool operations = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	(void)context;
	errno = EOPNOTSUPP;
	if ((attr->comp_mask & ~known) || ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) && attr->max_tso_header) ||
	    (operations && (attr->send_ops_flags & ~operations_of(attr->qp_type))))
		return NULL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	/* ibv_qp_init_attr_ex begins with the members of ibv_qp_init_attr */
	struct queue_pair *q = create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (!q || !operations)
		return q ? &q->qp : NULL;
	q->batch = batch_new(&attr->cap);
	if (!q->batch) {
		ibv_destroy_qp(&q->qp);
		errno = ENOMEM;
		return NULL;
	}
	give_functions(&q->ex);
	return &q->qp;
}

/* Extended completion queues (ibv_create_cq_ex(3)): completions are polled one by one. */
#include "upper.h"

static struct completion_queue *extended(struct ibv_cq_ex *cq)
{
	return CONTAINER(cq, struct completion_queue, ex);
}

static int next(struct ibv_cq_ex *cq)
{
	struct completion_queue *q = extended(cq);
	int64_t n = ASK(VERBS_POLL_CQ, cq->handle, 1, P(&q->now), cq->read_completion_ts ? P(&q->stamp) : 0);
	if (n <= 0)
		return n ? (int)-n : ENOENT;
	cq->status = q->now.status;
	cq->wr_id = q->now.wr_id;
	return 0;
}

static int start(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	return attr->comp_mask ? EINVAL : next(cq);
}

static void end(struct ibv_cq_ex *cq)
{
	(void)cq;
}

#define READ(type, name, field) \
	static type name(struct ibv_cq_ex *cq) \
	{ \
		return extended(cq)->now.field; \
	}
READ(enum ibv_wc_opcode, opcode, opcode)
READ(uint32_t, vendor_err, vendor_err)
READ(uint32_t, byte_len, byte_len)
READ(__be32, imm_data, imm_data)
READ(uint32_t, qp_num, qp_num)
READ(uint32_t, src_qp, src_qp)
READ(unsigned int, wc_flags, wc_flags)
READ(uint32_t, slid, slid)
READ(uint8_t, sl, sl)
READ(uint8_t, dlid_path_bits, dlid_path_bits)

static uint64_t completion_ts(struct ibv_cq_ex *cq)
{
	return extended(cq)->stamp.clock;
}

static uint64_t completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	return extended(cq)->stamp.wall;
}

/* The device's clock: see hca_core_clock in ibv_device_attr_ex. */
int ops_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct timespec now;
	const bool wanted = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;
	if (wanted && !context_of(context)->has_clock)
		return EOPNOTSUPP;
	values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
	if (!wanted)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	values->raw_clock = (struct timespec){.tv_nsec = now.tv_sec * 1000000000 + now.tv_nsec}; /* ticks */
	return 0;
}

struct ibv_cq_ex *ops_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	const uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	const bool stamped = attr->wc_flags & stamps;
	/* no tag matching, no VLANs, no flow tags; a parent domain changes nothing */
	if ((attr->wc_flags & ~(IBV_WC_STANDARD_FLAGS | stamps)) ||
	    (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) ||
	    (flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) || (stamped && !context_of(context)->has_clock)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	struct completion_queue *q = create_cq(context, (int)attr->cqe, attr->cq_context, attr->channel,
					       (int)attr->comp_vector);
	if (!q)
		return NULL;
	struct ibv_cq_ex *cq = &q->ex;
	cq->start_poll = start;
	cq->next_poll = next;
	cq->end_poll = end;
	cq->read_opcode = opcode;
	cq->read_vendor_err = vendor_err;
	cq->read_byte_len = byte_len;
	cq->read_imm_data = imm_data;
	cq->read_qp_num = qp_num;
	cq->read_src_qp = src_qp;
	cq->read_wc_flags = wc_flags;
	cq->read_slid = slid;
	cq->read_sl = sl;
	cq->read_dlid_path_bits = dlid_path_bits;
	if (stamped) {
		cq->read_completion_ts = completion_ts;
		cq->read_completion_wallclock_ns = completion_wallclock_ns;
	}
	return cq;
}

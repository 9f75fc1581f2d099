/* Objects that only some devices have, each with all that its man page promises: parent and thread domains
 * (ibv_alloc_parent_domain(3)), device memory (ibv_alloc_dm(3)), on-demand paging (ibv_advise_mr(3)), time stamps of completions (ibv_create_cq_ex(3)). */
#include <sys/mman.h>
#include "verbs_pair.h"

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;
	CHECK(!clock_gettime(clock, &t));
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void domains(void)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_td *td = ibv_alloc_td(it.context, &none);
	CHECK(td && td->context == it.context);
	struct ibv_pd *pd = ibv_alloc_pd(it.context);
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td}, wrong = {.td = td},
					   odd = {.pd = pd, .comp_mask = 64};
	CHECK(!ibv_alloc_parent_domain(it.context, &wrong) && errno == EINVAL);
	CHECK(!ibv_alloc_parent_domain(it.context, &odd) && errno == EINVAL);
	struct ibv_pd *parent = ibv_alloc_parent_domain(it.context, &attr);
	CHECK(parent && parent != pd && parent->context == it.context);
	CHECK(ibv_dealloc_pd(pd) == EBUSY && ibv_dealloc_td(td) == EBUSY);
	/* a key of the one is a key of the other */
	struct ibv_mr *mr = ibv_reg_mr(parent, it.buffer, 64, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr && mr->pd == parent);
	CHECK(!ibv_dereg_mr(mr));
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(it.context, &cq_attr);
	CHECK(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	CHECK(!ibv_dealloc_pd(parent) && !ibv_dealloc_td(td) && !ibv_dealloc_pd(pd));
	puts("domains");
}

static void no_memory(struct ibv_alloc_dm_attr attr, int error)
{
	CHECK(!ibv_alloc_dm(it.context, &attr) && errno == error);
}

/* The client writes from its device memory into the server's, at offsets: the regions are zero-based. */
static void memory(void)
{
	enum { BYTES = 4096, FROM = 1024 };
	struct ibv_device_attr_ex device;
	char text[32] = "";
	CHECK(!ibv_query_device_ex(it.context, NULL, &device) && device.max_dm_size >= 2 * BYTES);
	no_memory((struct ibv_alloc_dm_attr){.length = 0}, EINVAL);
	no_memory((struct ibv_alloc_dm_attr){.length = BYTES, .comp_mask = 1}, EINVAL);
	no_memory((struct ibv_alloc_dm_attr){.length = device.max_dm_size + 1}, ENOMEM);
	struct ibv_alloc_dm_attr attr = {.length = BYTES, .log_align_req = 6};
	struct ibv_dm *dm = ibv_alloc_dm(it.context, &attr);
	CHECK(dm && dm->context == it.context);
	no_memory((struct ibv_alloc_dm_attr){.length = device.max_dm_size - BYTES + 1}, ENOMEM);
	CHECK(ibv_memcpy_to_dm(dm, BYTES, "four", 4) && ibv_memcpy_from_dm(text, dm, BYTES + 4, 0));
	CHECK(ibv_memcpy_to_dm(dm, 0, "three", 3) && ibv_memcpy_to_dm(dm, 1, "four", 4)); /* words */
	CHECK(!ibv_memcpy_from_dm(text, dm, BYTES, 0));
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED;
	CHECK(!ibv_reg_dm_mr(it.pd, dm, 0, BYTES, access & ~IBV_ACCESS_ZERO_BASED) && errno == EINVAL);
	CHECK(!ibv_reg_dm_mr(it.pd, dm, 1, BYTES, access) && errno == EINVAL);
	struct ibv_mr *mr = ibv_reg_dm_mr(it.pd, dm, FROM, BYTES - FROM, access);
	CHECK(mr && mr->length == BYTES - FROM && ibv_free_dm(dm) == EBUSY);
	uint32_t own = mr->rkey, peer;
	tell(&own, sizeof(own));
	hear(&peer, sizeof(peer));
	if (!it.server) {
		CHECK(!ibv_memcpy_to_dm(dm, FROM + 8, "from memory to memory\0", 24));
		struct ibv_sge sge = {8, 22, mr->lkey};
		struct ibv_send_wr *bad, wr = {.wr_id = 1,
					       .sg_list = &sge,
					       .num_sge = 1,
					       .opcode = IBV_WR_RDMA_WRITE,
					       .send_flags = IBV_SEND_SIGNALED,
					       .wr.rdma = {.remote_addr = 100, .rkey = peer}};
		CHECK(!ibv_post_send(it.qp, &wr, &bad));
		succeed(1);
	}
	meet();
	CHECK(!ibv_memcpy_from_dm(text, dm, FROM + (it.server ? 100 : 8), 24));
	puts(text);
	CHECK(!ibv_dereg_mr(mr) && !ibv_free_dm(dm));
}

/* On-demand paging: what is registered may be mapped later.  ibv_advise_mr(3) tells what cannot be fetched. */
static void paging(void)
{
	const size_t len = 8192;
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	struct ibv_device_attr_ex device;
	CHECK(!ibv_query_device_ex(it.context, NULL, &device));
	CHECK(device.odp_caps.general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT));
	char *later = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(later != MAP_FAILED && !munmap(later, len));
	CHECK(!ibv_reg_mr(it.pd, later, len, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
	struct ibv_mr *mr = ibv_reg_mr(it.pd, later, len, access), *all = ibv_reg_mr(it.pd, NULL, SIZE_MAX, access);
	struct ibv_mr *fixed = ibv_reg_mr(it.pd, later, len, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *other = ibv_alloc_pd(it.context);
	CHECK(mr && all && fixed && other);
	struct ibv_sge sge = {(uint64_t)later, (uint32_t)len, mr->lkey};
	const enum ibv_advise_mr_advice fetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
	CHECK(ibv_advise_mr(it.pd, fetch, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) == EFAULT); /* not mapped */
	CHECK(mmap(later, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == later);
	for (int advice = 0; advice < 3; advice++)
		for (uint32_t flags = 0; flags < 3; flags++)
			CHECK(ibv_advise_mr(it.pd, advice, flags, &sge, 1) == (flags < 2 ? 0 : EINVAL));
	CHECK(ibv_advise_mr(it.pd, 3, 0, &sge, 1) == ENOTSUP && ibv_advise_mr(it.pd, fetch, 0, &sge, 0) == EINVAL);
	CHECK(ibv_advise_mr(other, fetch, 0, &sge, 1) == EPERM);
	sge.length++;
	CHECK(ibv_advise_mr(it.pd, fetch, 0, &sge, 1) == EFAULT);
	sge = (struct ibv_sge){(uint64_t)later, 64, fixed->lkey};
	CHECK(!ibv_advise_mr(it.pd, fetch, 0, &sge, 1));
	CHECK(ibv_advise_mr(it.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1) == EPERM);
	sge.lkey = it.mr->lkey;
	CHECK(ibv_advise_mr(it.pd, fetch, 0, &sge, 1) == ENOENT);
	/* the peer's memory, read through the key of the whole address space */
	sge = (struct ibv_sge){(uint64_t)later + 4096, 16, all->lkey};
	strcpy(it.buffer + 4096, "on demand");
	meet();
	struct ibv_send_wr *bad, wr = {.wr_id = 9,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_RDMA_READ,
				       .send_flags = IBV_SEND_SIGNALED,
				       .wr.rdma = {.remote_addr = it.peer.addr + 4096, .rkey = it.peer.rkey}};
	CHECK(!ibv_post_send(it.qp, &wr, &bad));
	succeed(9);
	puts(later + 4096);
	meet();
	CHECK(!ibv_dereg_mr(mr) && !ibv_dereg_mr(all) && !ibv_dereg_mr(fixed) && !ibv_dealloc_pd(other));
	munmap(later, len);
}

static uint64_t raw_clock(void)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	CHECK(!ibv_query_rt_values_ex(it.context, &values) && values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000 + (uint64_t)values.raw_clock.tv_nsec;
}

/* Queue pairs of one process that send to one another; their completions lie for a while before they are polled. */
static void stamps(void)
{
	const uint64_t both = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct ibv_cq_init_attr_ex attr = {.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS | both};
	struct ibv_device_attr_ex device;
	CHECK(!ibv_query_device_ex(it.context, NULL, &device));
	CHECK(device.completion_timestamp_mask && device.hca_core_clock);
	struct ibv_cq_ex *cq = ibv_create_cq_ex(it.context, &attr);
	CHECK(cq);
	struct ibv_cq *was = it.cq;
	it.cq = ibv_cq_ex_to_cq(cq);
	struct ibv_qp *a = make_qp(IBV_QPT_RC), *b = make_qp(IBV_QPT_RC), *whole = it.qp;
	struct told to_a = it.own, to_b = it.own;
	to_a.qpn = a->qp_num;
	to_b.qpn = b->qp_num;
	to_init(a);
	to_init(b);
	to_rts(a, &to_b);
	to_rts(b, &to_a);
	it.qp = b;
	post_recv(2, 512, 64);
	it.qp = a;
	const struct told peer = it.peer;
	it.peer = it.own;
	const uint64_t before = raw_clock(), day = ns_of(CLOCK_REALTIME);
	post(1, IBV_WR_SEND, 0, 16, 0);
	struct ibv_poll_cq_attr poll = {0};
	uint64_t last = before;
	for (unsigned seen = 0; seen < 2;) {
		int rc = ibv_start_poll(cq, &poll);
		if (rc == ENOENT)
			continue;
		CHECK(!rc && !cq->status && cq->wr_id);
		const uint64_t at = ibv_wc_read_completion_ts(cq), wall = ibv_wc_read_completion_wallclock_ns(cq);
		const uint64_t now = raw_clock(), today = ns_of(CLOCK_REALTIME);
		CHECK(at >= last && at <= now);
		CHECK(wall + 1000000 >= day && wall <= today + 1000000); /* ticks that were converted */
		last = at;
		seen++;
		ibv_end_poll(cq);
	}
	it.peer = peer;
	it.qp = whole;
	it.cq = was;
	CHECK(!ibv_destroy_qp(a) && !ibv_destroy_qp(b) && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	puts("time stamps");
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	domains();
	memory();
	paging();
	stamps();
	part();
	return 0;
}

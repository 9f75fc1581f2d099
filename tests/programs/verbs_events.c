/* A queue pair that is connected with itself, with a shared receive queue: its limit, and what comes of an access that is
 * refused.  A line after each step; events are asked for long after they have come. */
#include <poll.h>
#include "verbs_pair.h"

static struct ibv_srq *shared;

static void say(const char *line)
{
	CHECK(write(1, line, strlen(line)) == (ssize_t)strlen(line));
}

static void post_shared(uint64_t id)
{
	struct ibv_sge sge = {(uint64_t)it.buffer + 4096, 64, it.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
	CHECK(!ibv_post_srq_recv(shared, &wr, &bad));
}

/* All that have come: there are so many. */
static void say_events(int n)
{
	struct pollfd one = {.fd = it.context->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	while (n--) {
		CHECK(poll(&one, 1, 30000) == 1);
		CHECK(!ibv_get_async_event(it.context, &event));
		if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			CHECK(event.element.srq == shared);
		else
			CHECK(event.element.qp == it.qp);
		char line[80];
		snprintf(line, sizeof(line), "%s\n", ibv_event_type_str(event.event_type));
		say(line);
		ibv_ack_async_event(&event);
	}
	CHECK(poll(&one, 1, 0) == 0);
}

int main(void)
{
	open_device();
	it.cq = ibv_create_cq(it.context, DEPTH, NULL, NULL, 0);
	CHECK(it.cq);
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 8, .max_sge = 1}};
	shared = ibv_create_srq(it.pd, &attr);
	CHECK(shared);
	struct ibv_qp_init_attr init = {.send_cq = it.cq,
					.recv_cq = it.cq,
					.srq = shared,
					.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = DEPTH, .max_send_sge = 1}};
	it.qp = ibv_create_qp(it.pd, &init);
	CHECK(it.qp);
	to_init(it.qp);
	it.peer = (struct told){.qpn = it.qp->qp_num, .addr = (uint64_t)it.buffer, .rkey = it.mr->rkey};
	CHECK(!ibv_query_gid(it.context, 1, 0, &it.peer.gid));
	to_rts(it.qp, &it.peer);
	for (uint64_t id = 1; id <= 4; id++)
		post_shared(id);
	attr.attr.srq_limit = 3;
	CHECK(!ibv_modify_srq(shared, &attr.attr, IBV_SRQ_LIMIT));
	say("armed\n");
	for (uint64_t id = 11; id <= 12; id++)
		post(id, IBV_WR_SEND, 0, 64, 0);
	for (int i = 0; i < 4; i++)
		CHECK(complete().status == IBV_WC_SUCCESS);
	say("reached\n");
	say_events(1);
	it.peer.rkey ^= 0x5500; /* nobody's */
	post(13, IBV_WR_RDMA_WRITE, 0, 64, 0);
	CHECK(complete().status != IBV_WC_SUCCESS); /* refused, or flushed: both ends are one */
	say("refused\n");
	say_events(2);
	say("over\n");
	return 0;
}

/* One thread waits for completions, one for asynchronous events, and the first looks at memory. */
#include <pthread.h>
#include "verbs_pair.h"

enum { ROUNDS = 30, FLAG = 64 << 10 };

static uint64_t looked, received;

static void *receiver(void *arg)
{
	for (int got = 0; got < ROUNDS;) {
		struct ibv_cq *cq;
		struct ibv_wc wc;
		void *context;
		CHECK(!ibv_get_cq_event(it.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		CHECK(!ibv_req_notify_cq(cq, 0));
		while (ibv_poll_cq(cq, 1, &wc) == 1) {
			CHECK(wc.status == IBV_WC_SUCCESS);
			if (wc.opcode == IBV_WC_RECV) {
				received += *(uint64_t *)(it.buffer + wc.wr_id * 64);
				got++;
			}
		}
	}
	return arg;
}

static void *listener(void *arg)
{
	struct ibv_async_event event;
	CHECK(!ibv_get_async_event(it.context, &event));
	CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == arg);
	ibv_ack_async_event(&event);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t one, two;
	CHECK(argc == 3);
	pair_up(argv, true);
	for (uint64_t i = 0; i < ROUNDS; i++)
		post_recv(i, i * 64, 64);
	CHECK(!ibv_req_notify_cq(it.cq, 0));
	meet();
	CHECK(!pthread_create(&one, NULL, receiver, NULL));
	struct ibv_srq_init_attr few = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(it.pd, &few);
	CHECK(srq);
	struct ibv_qp_init_attr init = {
		.send_cq = it.cq,
		.recv_cq = it.cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_send_sge = 1},
	};
	struct ibv_qp *idle = ibv_create_qp(it.pd, &init);
	CHECK(idle);
	to_init(idle);
	CHECK(!pthread_create(&two, NULL, listener, idle));
	volatile uint64_t *flag = (void *)(it.buffer + FLAG);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		size_t own = FLAG + 64 * i; /* until its completion */
		*(uint64_t *)(it.buffer + own) = i;
		post(1000 + i, IBV_WR_SEND, own, 8, 0);
		post(2000 + i, IBV_WR_RDMA_WRITE, own, 8, FLAG);
		while (*flag < i)
			looked++;
	}
	CHECK(!pthread_join(one, NULL));
	/* the event that the other thread waits for: no more receives for a queue pair in error */
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	CHECK(!ibv_modify_qp(idle, &error, IBV_QP_STATE));
	CHECK(!pthread_join(two, NULL) && !ibv_destroy_qp(idle) && !ibv_destroy_srq(srq));
	printf("received %lu\n", (unsigned long)received);
	CHECK(received == ROUNDS * (ROUNDS + 1) / 2);
	part();
	return 0;
}

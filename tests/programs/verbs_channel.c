/* Completions by events: ibv_get_cq_event() in a blocking way, and after poll(2) in a nonblocking one. */
#include <fcntl.h>
#include <poll.h>
#include "verbs_pair.h"

enum { ROUNDS = 20 };

static struct ibv_wc next_by_event(void)
{
	struct ibv_wc wc;
	for (;;) {
		struct ibv_cq *cq;
		void *context;
		int n = ibv_poll_cq(it.cq, 1, &wc);
		CHECK(n >= 0);
		if (n)
			return wc;
		CHECK(!ibv_req_notify_cq(it.cq, 0));
		n = ibv_poll_cq(it.cq, 1, &wc); /* it may have come in between */
		if (n)
			return wc;
		while (ibv_get_cq_event(it.channel, &cq, &context)) {
			struct pollfd p = {.fd = it.channel->fd, .events = POLLIN};
			CHECK(errno == EAGAIN && poll(&p, 1, 30000) == 1);
		}
		CHECK(cq == it.cq && context == &it);
		ibv_ack_cq_events(cq, 1);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, true);
	for (uint64_t i = 0; i < ROUNDS; i++)
		post_recv(i, i * 64, 64);
	meet();
	for (uint64_t round = 0; round < ROUNDS; round++) {
		if (round == ROUNDS / 2)
			fcntl(it.channel->fd, F_SETFL, fcntl(it.channel->fd, F_GETFL) | O_NONBLOCK);
		bool turn = it.server == (round % 2);
		if (turn) {
			sprintf(it.buffer + 8192, "round %d", (int)round);
			post(1000 + round, IBV_WR_SEND, 8192, 16, 0);
			CHECK(next_by_event().wr_id == 1000 + round);
		} else {
			struct ibv_wc wc = next_by_event();
			CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
			printf("%s\n", it.buffer + wc.wr_id * 64);
		}
	}
	part();
	return 0;
}

/* A child after fork: the parent's objects are not its own, a device of its own works; the parent goes on. */
#include <sys/wait.h>
#include "verbs_pair.h"

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	pair_up(argv, false);
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct ibv_wc wc;
		struct ibv_device_attr attr;
		printf("the parent's queue: %s\n", ibv_poll_cq(it.cq, 1, &wc) < 0 ? "refused" : "polled");
		open_device();
		CHECK(!ibv_query_device(it.context, &attr) && attr.phys_port_cnt == 1);
		it.cq = ibv_create_cq(it.context, 8, NULL, NULL, 0);
		CHECK(it.cq);
		/* a pair with itself */
		struct ibv_qp *a = make_qp(IBV_QPT_RC), *b = make_qp(IBV_QPT_RC);
		struct told to_a = {.qpn = a->qp_num}, to_b = {.qpn = b->qp_num};
		CHECK(!ibv_query_gid(it.context, 1, 0, &to_a.gid));
		to_b.gid = to_a.gid;
		to_init(a);
		to_init(b);
		to_rts(a, &to_b);
		to_rts(b, &to_a);
		it.qp = b;
		post_recv(1, 4096, 64);
		it.qp = a;
		strcpy(it.buffer, "from me to me");
		post(2, IBV_WR_SEND, 0, 14, 0);
		struct ibv_wc first = complete(), second = complete();
		CHECK(first.status == IBV_WC_SUCCESS && second.status == IBV_WC_SUCCESS);
		printf("child: %s\n", it.buffer + 4096);
		fflush(stdout);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	if (it.server) {
		post_recv(1, 0, 64);
		meet();
		succeed(1);
		printf("server got: %s\n", it.buffer);
	} else {
		meet();
		strcpy(it.buffer, "after the fork");
		post(2, IBV_WR_SEND, 0, 15, 0);
		succeed(2);
	}
	part();
	return 0;
}

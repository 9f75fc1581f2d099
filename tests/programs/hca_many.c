/* Several processes, a queue pair from each to each, all talking at once; then a child that begins anew. */
#include <stdatomic.h>
#include <sys/mman.h>
#include "hca_test.h"

enum { N = 4, ROUNDS = 30, LENGTH = 20000 };

static struct shared {
	atomic_uint arrived, round;
	struct address at[N][N]; /* [who][to whom] */
} * shared;
static struct qp pairs[N];

static void together(void)
{
	double until = now_s() + DEADLINE_S;
	unsigned round = shared->round;
	if (++shared->arrived == N) {
		shared->arrived = 0;
		shared->round++;
	}
	while (shared->round == round) {
		hca->progress();
		CHECK(now_s() < until);
	}
}

static uint8_t *place(unsigned from)
{
	return buffer + (1 << 20) + from * LENGTH;
}

static void process(int number)
{
	me = number;
	open_device();
	for (int to = 0; to < N; to++) {
		pairs[to] = qp_make(IBV_QPT_RC);
		shared->at[number][to] = (struct address){.qpn = pairs[to].number, .rkey = rkey, .buffer = buffer};
	}
	together();
	for (int to = 0; to < N; to++) {
		struct qp *q = &pairs[to];
		q->peer = shared->at[to][number]; /* to itself: connected to itself */
		struct ibv_qp_attr a = qp_attr(q);
		qp_init(q);
		a.rq_psn = a.sq_psn = 7;
		a.qp_state = IBV_QPS_RTR;
		OK(hca->modify_qp(q->handle, &a, qp_rtr_mask(q)));
		a.qp_state = IBV_QPS_RTS;
		OK(hca->modify_qp(q->handle, &a, qp_rts_mask(q)));
	}
	together();
	for (unsigned round = 0; round < ROUNDS; round++) {
		fill(buffer, LENGTH, (unsigned)number * 100 + round);
		for (int to = 0; to < N; to++)
			post_rdma(&pairs[to], round, IBV_WR_RDMA_WRITE, buffer, LENGTH,
				  pairs[to].peer.buffer + (1 << 20) + number * LENGTH, pairs[to].peer.rkey);
		for (int to = 0; to < N; to++)
			wait_wc(round, IBV_WC_SUCCESS);
		together();
		for (unsigned from = 0; from < N; from++)
			check_filled(place(from), LENGTH, from * 100 + round);
		together();
	}
}

/* What the parent has is not the child's; the parent goes on undisturbed. */
static void with_a_child(void)
{
	struct qp before = qp_make(IBV_QPT_RC);
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		uint32_t parents = before.number >> 14;
		hca->in_child();
		context = NULL;
		open_device();
		struct qp own = qp_make(IBV_QPT_RC);
		CHECK(own.number >> 14 != parents);
		hca->progress();
		hca->stop();
		_exit(0);
	}
	int status;
	double until = now_s() + DEADLINE_S;
	while (!waitpid(child, &status, WNOHANG)) {
		hca->progress();
		CHECK(now_s() < until);
	}
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	together();
	struct qp *next = &pairs[(me + 1) % N];
	post_rdma(next, 1, IBV_WR_RDMA_READ, buffer, 8, next->peer.buffer, next->peer.rkey);
	wait_wc(1, IBV_WC_SUCCESS);
	together();
}

int main(void)
{
	int failed = 0, status;
	pid_t children[N];
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < N; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i])
			continue;
		alarm(60);
		process(i);
		with_a_child();
		hca->stop();
		_exit(0);
	}
	for (int i = 0; i < N; i++)
		failed |= waitpid(children[i], &status, 0) != children[i] || status;
	return failed;
}

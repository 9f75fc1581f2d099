/* interposer/verbs/lower/completion_buffers.c by itself: this program is the provider, and the rest of the plug-in. */
#include "verbs/lower/completion_buffers.c"
#include <stdio.h>

static const struct verbs_provider device = {.by_itself = true}, software = {.by_itself = false};
const struct verbs_provider *provider = &device;
bool numbers_rebound;

enum { MOST = 300 };

/* What was told: pieces of memory, or `none` (so far), or `all`. */
static char heard[4096];

static void device_told(void *upper, size_t len)
{
	char *end = heard + strlen(heard);
	size_t room = sizeof(heard) - (size_t)(end - heard);
	if (!upper)
		snprintf(end, room, "%s ", len ? "all" : "none");
	else
		snprintf(end, room, "%lu+%zu ", (unsigned long)upper, len);
}

__attribute__((noreturn)) static void fatal(const char *fmt, ...)
{
	puts(fmt);
	exit(2);
}

static struct rdb_host rest = {.device_told = device_told, .fatal = fatal};
const struct rdb_host *host = &rest;

static struct object pairs[3], shared_queue = {.kind = SRQ};

struct object *object_next(uint32_t *next)
{
	static struct object other = {.kind = CQ, .made.qp.number = 7};
	const uint32_t i = (*next)++;
	if (i == 0)
		return &other;
	return i <= 3 ? &pairs[i - 1] : NULL;
}

static int failures;

#define EXPECT(what, words) \
	do { \
		*heard = 0; \
		what; \
		if (strcmp(heard, words)) { \
			printf("line %d: %s: %s\n", __LINE__, #what, heard); \
			failures++; \
		} \
	} while (0)

/* A receive, or a request to send, of pieces that lie at 1000 * `at` and the next thousands and have 1, 2, ... bytes. */
static struct ibv_sge *pieces(unsigned at, int n)
{
	static struct ibv_sge list[8];
	for (int i = 0; i < n; i++)
		list[i] = (struct ibv_sge){.addr = 1000ul * (at + (unsigned)i), .length = (uint32_t)i + 1};
	return list;
}

static void receive(struct object *qp, unsigned at, int n)
{
	completion_buffers_posted_recv(qp, &(struct ibv_recv_wr){.sg_list = pieces(at, n), .num_sge = n});
}

static void request(struct object *qp, enum ibv_wr_opcode what, unsigned flags, unsigned at, int n)
{
	completion_buffers_posted_send(
		qp, &(struct ibv_send_wr){.sg_list = pieces(at, n), .num_sge = n, .opcode = what, .send_flags = flags});
}

static void done(const struct object *qp, enum ibv_wc_opcode what, enum ibv_wc_status status)
{
	completion_buffers_completed(&(struct ibv_wc){.qp_num = qp->made.qp.number, .opcode = what, .status = status}, 1);
}

static void begin(void)
{
	for (int i = 0; i < 3; i++) {
		completion_buffers_empty(&pairs[i]);
		pairs[i] = (struct object){.kind = QP, .made.qp.number = (uint32_t)(7 + i * SLOTS)};
	}
}

static void receives(void)
{
	begin();
	receive(&pairs[0], 1, 2);
	receive(&pairs[0], 5, 0);
	receive(&pairs[0], 6, 1);
	EXPECT(completion_buffers_completed(NULL, 0), "");
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none 1000+1 2000+2 ");
	EXPECT(done(&pairs[0], IBV_WC_RECV_RDMA_WITH_IMM, 0), "none ");
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none 6000+1 ");
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none all "); /* of a request that nobody has told of: */
	receive(&pairs[0], 1, 1);
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none all "); /* what is in the queue is not known any more */
	completion_buffers_empty(&pairs[0]);
	receive(&pairs[0], 2, 1);
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none 2000+1 ");
}

/* A completion tells of the requests before it, too, that have none of their own; who writes elsewhere fills nothing. */
static void requests(void)
{
	begin();
	request(&pairs[0], IBV_WR_RDMA_READ, 0, 1, 1);
	request(&pairs[0], IBV_WR_RDMA_WRITE, 0, 2, 2);
	request(&pairs[0], IBV_WR_SEND, IBV_SEND_SIGNALED, 3, 1);
	request(&pairs[0], IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, 4, 1);
	request(&pairs[0], IBV_WR_ATOMIC_CMP_AND_SWP, 0, 5, 1);
	receive(&pairs[0], 8, 1);
	EXPECT(done(&pairs[0], IBV_WC_SEND, 0), "none 1000+1 ");
	EXPECT(done(&pairs[0], IBV_WC_FETCH_ADD, 0), "none 4000+1 ");
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none 8000+1 ");
	EXPECT(done(&pairs[0], IBV_WC_COMP_SWAP, 0), "none 5000+1 all "); /* it should have had none */
	pairs[1].made.qp.init.sq_sig_all = 1;
	request(&pairs[1], IBV_WR_RDMA_READ, 0, 1, 1);
	request(&pairs[1], IBV_WR_RDMA_READ, 0, 2, 2);
	EXPECT(done(&pairs[1], IBV_WC_RDMA_READ, 0), "none 1000+1 ");
	EXPECT(done(&pairs[1], IBV_WC_RDMA_READ, 0), "none 2000+1 3000+2 ");
}

static void failed(void)
{
	begin();
	receive(&pairs[0], 1, 1);
	receive(&pairs[0], 2, 1);
	EXPECT(done(&pairs[0], 0, IBV_WC_WR_FLUSH_ERR), "none all "); /* whether it was a receive is not known */
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none all ");
	request(&pairs[2], IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 1);
	EXPECT(done(&pairs[2], 0, IBV_WC_RETRY_EXC_ERR), "none all ");
	receive(&pairs[1], 3, 1);
	completion_buffers_lost(&pairs[1]);
	EXPECT(done(&pairs[1], IBV_WC_RECV, 0), "none all ");
	EXPECT(done(&(struct object){.made.qp.number = 7777}, IBV_WC_RECV, 0), "none all ");
}

/* Receives of a queue that several share are not known by queue pair; what it sends is. */
static void shared(void)
{
	begin();
	pairs[0].parents[3] = &shared_queue;
	request(&pairs[0], IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 1);
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none all ");
	EXPECT(done(&pairs[0], IBV_WC_RDMA_READ, 0), "none 1000+1 ");
}

/* Queue pairs whose numbers have one place; several completions at once; one number that is another's later. */
static void numbers(void)
{
	struct ibv_wc both[2] = {{.qp_num = 7 + SLOTS, .opcode = IBV_WC_RECV}, {.qp_num = 7, .opcode = IBV_WC_RECV}};
	begin();
	receive(&pairs[0], 1, 1);
	receive(&pairs[1], 2, 1);
	EXPECT(completion_buffers_completed(both, 2), "none 2000+1 1000+1 ");
	completion_buffers_empty(&pairs[0]);
	pairs[0].kind = 0; /* gone */
	pairs[2].made.qp.number = 7;
	receive(&pairs[2], 3, 1);
	receive(&pairs[2], 4, 1);
	EXPECT(completion_buffers_completed(&both[1], 1), "none 3000+1 ");
	completion_buffers_forget();
	pairs[2].kind = 0;
	pairs[1].made.qp.number = 7;
	receive(&pairs[1], 5, 1);
	EXPECT(completion_buffers_completed(&both[1], 1), "none 5000+1 ");
}

/* The ring grows while its beginning is somewhere in the middle. */
static void many(void)
{
	char words[64];
	unsigned next = 1;
	begin();
	for (unsigned i = 1; i <= MOST; i++) {
		receive(&pairs[0], i, 1);
		if (i % 3)
			continue;
		snprintf(words, sizeof(words), "none %u+1 ", 1000 * next++);
		EXPECT(done(&pairs[0], IBV_WC_RECV, 0), words);
	}
	for (unsigned i = MOST + 1; i <= 2 * MOST; i++) { /* and goes round */
		receive(&pairs[0], i, 1);
		snprintf(words, sizeof(words), "none %u+1 ", 1000 * next++);
		EXPECT(done(&pairs[0], IBV_WC_RECV, 0), words);
	}
	while (next <= 2 * MOST) {
		snprintf(words, sizeof(words), "none %u+1 ", 1000 * next++);
		EXPECT(done(&pairs[0], IBV_WC_RECV, 0), words);
	}
}

/* Where what is in the queues is not known, or nothing is written without a call. */
static void unknown(void)
{
	begin();
	receive(&pairs[0], 1, 1);
	rest.branch = "branch";
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "all ");
	rest.branch = NULL;
	numbers_rebound = true;
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "all ");
	numbers_rebound = false;
	provider = &software;
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "");
	provider = &device;
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "none 1000+1 ");
	completion_buffers_elsewhere();
	receive(&pairs[0], 1, 1);
	EXPECT(done(&pairs[0], IBV_WC_RECV, 0), "all ");
}

int main(void)
{
	receives();
	requests();
	failed();
	shared();
	numbers();
	many();
	unknown();
	puts(failures ? "failed" : "ok");
	return failures != 0;
}

#include "completion_buffers.h"
#include "numbers.h"

/* A piece of memory of a request; a request without memory has one piece of length 0. */
struct piece {
	uint64_t addr;
	uint32_t len;
	bool last;     /* last piece of its request */
	bool signaled; /* its request will have a completion */
};

struct queue {
	struct piece *piece; /* a ring */
	uint32_t first, n, room;
};

struct completion_buffers {
	struct queue send, recv;
	bool lost; /* the queues do not match the device's any more; compare all memory */
};

enum { SLOTS = 256 };
static struct object *by_number[SLOTS]; /* cache of queue pairs by number */
static bool elsewhere;                  /* see completion_buffers_elsewhere() */

void completion_buffers_elsewhere(void)
{
	elsewhere = true;
}

/* After a restart, queues hold requests and completions that did not pass through here. */
static bool knows(void)
{
	return provider->by_itself && !host->branch && !numbers_rebound && !elsewhere;
}

static struct completion_buffers *of(struct object *qp)
{
	if (!qp->made.qp.buffers)
		qp->made.qp.buffers = calloc(1, sizeof(struct completion_buffers));
	if (!qp->made.qp.buffers)
		host->fatal("out of memory for the requests of a queue pair");
	return qp->made.qp.buffers;
}

static void push(struct queue *q, const struct piece *p)
{
	if (q->n == q->room) {
		const uint32_t room = q->room ? 2 * q->room : 64;
		struct piece *more = malloc(room * sizeof(*more));
		if (!more)
			host->fatal("out of memory for the requests of a queue pair");
		for (uint32_t i = 0; i < q->n; i++)
			more[i] = q->piece[(q->first + i) % q->room];
		free(q->piece);
		*q = (struct queue){.piece = more, .n = q->n, .room = room};
	}
	q->piece[(q->first + q->n++) % q->room] = *p;
}

static void posted(struct queue *q, const struct ibv_sge *list, int n, bool signaled)
{
	struct piece p = {.last = true, .signaled = signaled};
	if (n <= 0)
		push(q, &p);
	for (int i = 0; i < n; i++) {
		p.addr = list[i].addr;
		p.len = list[i].length;
		p.last = i == n - 1;
		push(q, &p);
	}
}

void completion_buffers_posted_send(struct object *qp, const struct ibv_send_wr *wr)
{
	const bool fills = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	const bool signaled = wr->send_flags & IBV_SEND_SIGNALED || qp->made.qp.init.sq_sig_all;
	if (knows())
		posted(&of(qp)->send, wr->sg_list, fills ? wr->num_sge : 0, signaled);
}

void completion_buffers_posted_recv(struct object *qp, const struct ibv_recv_wr *wr)
{
	if (knows())
		posted(&of(qp)->recv, wr->sg_list, wr->num_sge, true);
}

void completion_buffers_lost(struct object *qp)
{
	if (knows())
		of(qp)->lost = true;
}

void completion_buffers_empty(struct object *qp)
{
	struct completion_buffers *t = qp->made.qp.buffers;
	by_number[qp->made.qp.number % SLOTS] = NULL;
	qp->made.qp.buffers = NULL;
	if (!t)
		return;
	free(t->send.piece);
	free(t->recv.piece);
	free(t);
}

void completion_buffers_forget(void)
{
	memset(by_number, 0, sizeof(by_number));
}

static struct object *pair_of(uint32_t number)
{
	struct object **slot = &by_number[number % SLOTS];
	uint32_t next = 0;
	if (*slot && (*slot)->made.qp.number == number)
		return *slot;
	for (struct object *o; (o = object_next(&next));)
		if (o->kind == QP && o->made.qp.number == number)
			return *slot = o;
	return NULL;
}

/* Takes the requests up to the oldest signaled one and reports their memory.  False: there is no signaled one. */
static bool take(struct queue *q)
{
	while (q->n) {
		const struct piece p = q->piece[q->first];
		q->first = (q->first + 1) % q->room;
		q->n--;
		if (p.len)
			host->device_told((void *)p.addr, p.len);
		if (p.last && p.signaled)
			return true;
	}
	return false;
}

/* False: all memory must be compared.  The opcode of a failed completion is undefined (ibv_poll_cq(3)). */
static bool completed(const struct ibv_wc *wc)
{
	struct object *qp = pair_of(wc->qp_num);
	if (!qp)
		return false;
	struct completion_buffers *t = of(qp);
	const bool received = wc->opcode & IBV_WC_RECV;
	if (wc->status || (received && qp->parents[3]))
		t->lost = t->lost || wc->status;
	else if (!t->lost && take(received ? &t->recv : &t->send))
		return true;
	else
		t->lost = true;
	return false;
}

void completion_buffers_completed(const struct ibv_wc *wc, int n)
{
	if (!provider->by_itself || n <= 0)
		return;
	host->device_told(NULL, knows() ? 0 : SIZE_MAX);
	for (int i = 0; knows() && i < n; i++)
		if (!completed(&wc[i]))
			host->device_told(NULL, SIZE_MAX);
}

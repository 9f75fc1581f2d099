#include "told.h"
#include "numbers.h"

/* A piece of memory of a request; one of length 0, if it has none. */
struct piece {
	uint64_t addr;
	uint32_t len;
	bool last;     /* of its request */
	bool signaled; /* there will be a completion */
};

struct queue {
	struct piece *piece; /* a ring */
	uint32_t first, n, room;
};

struct told {
	struct queue send, recv;
	bool lost;
};

enum { SLOTS = 256 };
static struct object *by_number[SLOTS]; /* queue pairs that were asked for last */
static bool elsewhere;

void told_elsewhere(void)
{
	elsewhere = true;
}

/* After a restart there are requests and completions that others have put there. */
static bool knows(void)
{
	return provider->by_itself && !host->branch && !numbers_rebound && !elsewhere;
}

static struct told *of(struct object *qp)
{
	if (!qp->made.qp.told)
		qp->made.qp.told = calloc(1, sizeof(struct told));
	if (!qp->made.qp.told)
		host->fatal("out of memory for what a queue pair is asked for");
	return qp->made.qp.told;
}

static void push(struct queue *q, const struct piece *p)
{
	if (q->n == q->room) {
		const uint32_t room = q->room ? 2 * q->room : 64;
		struct piece *more = malloc(room * sizeof(*more));
		if (!more)
			host->fatal("out of memory for what a queue pair is asked for");
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

void told_posted_send(struct object *qp, const struct ibv_send_wr *wr)
{
	const bool fills = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	const bool signaled = wr->send_flags & IBV_SEND_SIGNALED || qp->made.qp.init.sq_sig_all;
	if (knows())
		posted(&of(qp)->send, wr->sg_list, fills ? wr->num_sge : 0, signaled);
}

void told_posted_recv(struct object *qp, const struct ibv_recv_wr *wr)
{
	if (knows())
		posted(&of(qp)->recv, wr->sg_list, wr->num_sge, true);
}

void told_lost(struct object *qp)
{
	if (knows())
		of(qp)->lost = true;
}

void told_empty(struct object *qp)
{
	struct told *t = qp->made.qp.told;
	by_number[qp->made.qp.number % SLOTS] = NULL;
	qp->made.qp.told = NULL;
	if (!t)
		return;
	free(t->send.piece);
	free(t->recv.piece);
	free(t);
}

void told_forget(void)
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

/* The oldest request that has a completion, and those before it, are done.  False: there is none. */
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

/* Of one that failed the opcode is not known (ibv_poll_cq(3)). */
static bool completed(const struct ibv_wc *wc)
{
	struct object *qp = pair_of(wc->qp_num);
	if (!qp)
		return false;
	struct told *t = of(qp);
	const bool received = wc->opcode & IBV_WC_RECV;
	if (wc->status || (received && qp->parents[3]))
		t->lost = t->lost || wc->status;
	else if (!t->lost && take(received ? &t->recv : &t->send))
		return true;
	else
		t->lost = true;
	return false;
}

void told_completed(const struct ibv_wc *wc, int n)
{
	if (!provider->by_itself || n <= 0)
		return;
	host->device_told(NULL, knows() ? 0 : SIZE_MAX);
	for (int i = 0; knows() && i < n; i++)
		if (!completed(&wc[i]))
			host->device_told(NULL, SIZE_MAX);
}
